package dev.palisade.gateway;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/** Plain HTTP. */
final class HttpCall implements CallProtocol {
    /**
     * Statuses that say that the work goes on, or that proxies and HTTP libraries give for calls whose handler may still be
     * at work: complete, but no end.
     */
    private static final Set<Integer> STILL_UNKNOWN = Set.of(202, 408, 502, 503, 504);

    private final boolean isOfS3;

    HttpCall(RequestHeaders headers) {
        isOfS3 = S3Error.isFor(headers);
    }

    @Override
    public SignedSequencer sequencer(RequestHeaders headers) {
        return ForwardedHeaders.sequencer(headers);
    }

    @Override
    public Optional<Duration> timeLeft() {
        return Optional.empty();
    }

    @Override
    public RequestHeaders forwarded(RequestHeaders headers) {
        return headers;
    }

    @Override
    public boolean canBeCancelled() {
        return false;
    }

    @Override
    public AggregatedHttpResponse refusal(HttpStatus status, Rejection rejection) {
        return isOfS3 ? S3Error.of(status, rejection) : ProblemDetail.of(status, rejection);
    }

    @Override
    public Optional<HttpHeaders> abortTrailers(Rejection rejection) {
        return Optional.empty();
    }

    /** Some gRPC servers take calls of any content type. Their reply has a gRPC status, which decides then. */
    @Override
    public boolean isEnd(HttpStatus status, HttpHeaders last) {
        return GrpcCall.hasStatus(last) ? GrpcCall.statusSaysEnd(status, last) : !STILL_UNKNOWN.contains(status.code());
    }
}
