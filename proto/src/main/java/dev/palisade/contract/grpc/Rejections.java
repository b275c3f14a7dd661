package dev.palisade.contract.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;
import java.util.Optional;

/** {@link Rejection} to gRPC status with {@code google.rpc.ErrorInfo} and back: the only table of status codes. */
public final class Rejections {
    /** The {@code domain} of every ErrorInfo that Palisade sends. */
    public static final String DOMAIN = "palisade.dev";

    private Rejections() {}

    /**
     * Loads the classes that the first rejection of a process needs. They are hundreds, of protobuf: 0.1 to 0.4 s, and 2 s on an overloaded
     * machine. Otherwise a server that stops delays its clients by that time.
     */
    public static void load() {
        var unused = ofThrowable(toStatus(new Rejection(Reason.NOT_ACTIVE, "", Map.of(Rejection.APPLIED, "no"))));
    }

    /** The gRPC code of a reason. */
    public static Status.Code code(Reason reason) {
        return switch (reason) {
            case MALFORMED_REQUEST, SEQUENCER_MISSING -> Status.Code.INVALID_ARGUMENT;
            case UNAUTHENTICATED, SEQUENCER_INVALID -> Status.Code.UNAUTHENTICATED;
            case PERMISSION_DENIED, WRONG_RESOURCE, MODE_NOT_ALLOWED -> Status.Code.PERMISSION_DENIED;
            case SESSION_UNKNOWN, NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED -> Status.Code.FAILED_PRECONDITION;
            case TOKEN_STALE -> Status.Code.ABORTED;
            case QUEUE_FULL, LIMIT_EXCEEDED, TOKENS_EXHAUSTED -> Status.Code.RESOURCE_EXHAUSTED;
            case DRAINING, MARK_UNAVAILABLE, RECOVERING, SUSPECT_PRIMARY, STORE_UNAVAILABLE, NOT_ACTIVE ->
                Status.Code.UNAVAILABLE;
            case OUTCOME_UNKNOWN -> Status.Code.UNKNOWN;
        };
    }

    /** What a gRPC service answers with. */
    public static StatusRuntimeException toStatus(Rejection rejection) {
        ErrorInfo info = ErrorInfo.newBuilder()
                .setDomain(DOMAIN)
                .setReason(rejection.reason().name())
                .putAllMetadata(rejection.metadata())
                .build();
        return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(code(rejection.reason()).value())
                .setMessage(rejection.message())
                .addDetails(Any.pack(info))
                .build());
    }

    /**
     * The rejection inside a failed call, of gRPC or of the guard itself; empty when Palisade did not refuse it. A reason of a
     * newer release is OUTCOME_UNKNOWN.
     */
    public static Optional<Rejection> ofThrowable(Throwable failure) {
        if (failure instanceof RejectedException rejected) {
            return Optional.of(rejected.rejection());
        }
        com.google.rpc.Status status = StatusProto.fromThrowable(failure);
        if (status == null) {
            return Optional.empty();
        }
        for (Any detail : status.getDetailsList()) {
            if (detail.is(ErrorInfo.class)) {
                try {
                    ErrorInfo info = detail.unpack(ErrorInfo.class);
                    if (info.getDomain().equals(DOMAIN)) {
                        return Optional.of(
                                new Rejection(reason(info.getReason()), status.getMessage(), info.getMetadataMap()));
                    }
                } catch (InvalidProtocolBufferException e) {
                    return Optional.empty();
                }
            }
        }
        return Optional.empty();
    }

    /** The reason of that name; one that this release does not know says nothing about the outcome. */
    public static Reason reason(String name) {
        try {
            return Reason.valueOf(name);
        } catch (IllegalArgumentException e) {
            return Reason.OUTCOME_UNKNOWN;
        }
    }
}
