package dev.palisade.gateway;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import java.time.Duration;
import java.util.Optional;

/**
 * Protocol of one call, as far as the guard has to know it: plain HTTP or gRPC. It says where the sequencer is, how a
 * refusal is written, and whether a response proves that the call has ended.
 */
interface CallProtocol {
    /** Of a request that has just arrived. */
    static CallProtocol of(RequestHeaders headers, boolean http2) {
        return http2 && GrpcCall.isOne(headers) ? new GrpcCall(headers) : new HttpCall(headers);
    }

    /** @throws dev.palisade.contract.RejectedException SEQUENCER_MISSING, or SEQUENCER_INVALID when it cannot be one */
    SignedSequencer sequencer(RequestHeaders headers);

    /** Time until the caller's own deadline; empty when it has none. */
    Optional<Duration> timeLeft();

    /** The headers to forward: with the deadline as it is now. */
    RequestHeaders forwarded(RequestHeaders headers);

    /** Whether the service is notified at once when the client has gone, or a newer grant waits for an unfinished request. */
    boolean canBeCancelled();

    /** @param status of plain HTTP */
    AggregatedHttpResponse refusal(HttpStatus status, Rejection rejection);

    default AggregatedHttpResponse refusal(Rejection rejection) {
        return refusal(ProblemDetail.status(rejection.reason()), rejection);
    }

    /**
     * Trailers that replace the rest of a response that has begun; empty where only a broken connection can show
     * that.
     */
    Optional<HttpHeaders> abortTrailers(Rejection rejection);

    /**
     * Whether a response that came whole says that the work has ended.
     *
     * @param last the trailers, or the headers of a response without any
     */
    boolean isEnd(HttpStatus status, HttpHeaders last);

    /** The rejection with {@code applied}, for its reader. */
    static Rejection withApplied(Rejection rejection) {
        if (rejection.metadata().containsKey(Rejection.APPLIED)) {
            return rejection;
        }
        return rejection.with(Rejection.APPLIED, rejection.reason() == Reason.OUTCOME_UNKNOWN ? "unknown" : "no");
    }
}
