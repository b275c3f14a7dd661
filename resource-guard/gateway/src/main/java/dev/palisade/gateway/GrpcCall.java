package dev.palisade.gateway;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpHeadersBuilder;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.ResponseHeaders;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A gRPC call, of which the gateway reads headers and trailers; its messages pass as bytes. */
final class GrpcCall implements CallProtocol {
    private static final String TYPE = "application/grpc";
    private static final String SEQUENCER = SequencerHeader.KEY.name();
    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

    /**
     * Statuses that only a handler gives, or that a call ends with before its handler starts. The others come from gRPC's
     * libraries and from proxies, too, of calls whose handlers go on: see "Status codes" of gRPC's documentation.
     */
    private static final Set<Status.Code> ENDS = EnumSet.of(
            Status.Code.OK,
            Status.Code.INVALID_ARGUMENT,
            Status.Code.NOT_FOUND,
            Status.Code.ALREADY_EXISTS,
            Status.Code.PERMISSION_DENIED,
            Status.Code.FAILED_PRECONDITION,
            Status.Code.ABORTED,
            Status.Code.OUT_OF_RANGE,
            Status.Code.UNIMPLEMENTED,
            Status.Code.DATA_LOSS,
            Status.Code.UNAUTHENTICATED);

    /** Services about the server itself, which change no data. */
    private static final Set<String> UNGUARDED = Set.of(
            "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection");

    private final @Nullable GrpcDeadline deadline;

    GrpcCall(RequestHeaders headers) {
        deadline = GrpcDeadline.of(headers);
    }

    static boolean isOne(RequestHeaders headers) {
        String type = type(headers);
        return headers.method() == HttpMethod.POST
                && type.startsWith(TYPE)
                && (type.length() == TYPE.length()
                        || type.charAt(TYPE.length()) == '+'
                        || type.charAt(TYPE.length()) == ';');
    }

    /** gRPC-Web has the status of a call inside the body, where the gateway does not see it. */
    static boolean isWeb(RequestHeaders headers) {
        return headers.getAll("content-type").stream()
                .anyMatch(type -> type.toLowerCase(Locale.ROOT).startsWith("application/grpc-web"));
    }

    /** In small letters: media types are compared so (RFC 9110, 8.3.1), and services do. */
    private static String type(RequestHeaders headers) {
        return headers.get("content-type", "").toLowerCase(Locale.ROOT);
    }

    /** Whether a gRPC call with that target is of health or reflection. */
    static boolean isUnguarded(RequestPath target) {
        return target.segments().size() == 2
                && UNGUARDED.contains(target.segments().get(0));
    }

    @Override
    public SignedSequencer sequencer(RequestHeaders headers) {
        Metadata metadata = new Metadata();
        for (String line : headers.getAll(SEQUENCER)) {
            for (String value : line.split(",", -1)) {
                metadata.put(SequencerHeader.KEY, bytes(value.strip()));
            }
        }
        return SequencerHeader.require(metadata);
    }

    private static byte[] bytes(String base64) {
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            throw new Rejection(
                            Reason.SEQUENCER_INVALID, "the " + SEQUENCER + " header is no base64; send it as gRPC does")
                    .asException();
        }
    }

    @Override
    public Optional<Duration> timeLeft() {
        return Optional.ofNullable(deadline).map(GrpcDeadline::left);
    }

    @Override
    public RequestHeaders forwarded(RequestHeaders headers) {
        return deadline == null
                ? headers
                : headers.toBuilder().set(GrpcDeadline.HEADER, deadline.text()).build();
    }

    @Override
    public boolean canBeCancelled() {
        return true;
    }

    @Override
    public AggregatedHttpResponse refusal(HttpStatus status, Rejection rejection) {
        ResponseHeaders headers =
                ResponseHeaders.builder(HttpStatus.OK).set("content-type", TYPE).build();
        return AggregatedHttpResponse.of(headers, HttpData.empty(), trailers(rejection));
    }

    @Override
    public Optional<HttpHeaders> abortTrailers(Rejection rejection) {
        return Optional.of(trailers(rejection));
    }

    @Override
    public boolean isEnd(HttpStatus status, HttpHeaders last) {
        return statusSaysEnd(status, last);
    }

    /** Whether those are the trailers of a gRPC reply. */
    static boolean hasStatus(HttpHeaders last) {
        return last.contains("grpc-status");
    }

    /** False also without a gRPC status. */
    static boolean statusSaysEnd(HttpStatus status, HttpHeaders last) {
        int code = last.getInt("grpc-status", -1);
        return status.equals(HttpStatus.OK)
                && code >= 0
                && ENDS.contains(Status.fromCodeValue(code).getCode());
    }

    /** The status as the guard of a gRPC service gives it. */
    private static HttpHeaders trailers(Rejection rejection) {
        StatusRuntimeException failure = Rejections.toStatus(CallProtocol.withApplied(rejection));
        HttpHeadersBuilder headers = HttpHeaders.builder()
                .endOfStream(true)
                .setInt("grpc-status", failure.getStatus().getCode().value())
                .set(
                        "grpc-message",
                        percentEncoded(String.valueOf(failure.getStatus().getDescription())));
        Metadata trailers = Status.trailersFromThrowable(failure);
        byte[] details = trailers == null ? null : trailers.get(DETAILS);
        if (details != null) {
            headers.set(DETAILS.name(), Base64.getEncoder().withoutPadding().encodeToString(details));
        }
        return headers.build();
    }

    private static String percentEncoded(String text) {
        StringBuilder encoded = new StringBuilder();
        for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
            if (each >= ' ' && each < 0x7f && each != '%') {
                encoded.append((char) each);
            } else {
                encoded.append('%').append(HexFormat.of().withUpperCase().toHexDigits(each));
            }
        }
        return encoded.toString();
    }
}
