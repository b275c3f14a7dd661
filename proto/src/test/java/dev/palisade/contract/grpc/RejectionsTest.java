package dev.palisade.contract.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.ErrorInfo;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RejectionsTest {
    /** The table of the protocol, in its order of precedence. */
    private static final Map<Reason, Code> TABLE = new LinkedHashMap<>();

    static {
        TABLE.put(Reason.MALFORMED_REQUEST, Code.INVALID_ARGUMENT);
        TABLE.put(Reason.UNAUTHENTICATED, Code.UNAUTHENTICATED);
        TABLE.put(Reason.PERMISSION_DENIED, Code.PERMISSION_DENIED);
        TABLE.put(Reason.SEQUENCER_MISSING, Code.INVALID_ARGUMENT);
        TABLE.put(Reason.SEQUENCER_INVALID, Code.UNAUTHENTICATED);
        TABLE.put(Reason.WRONG_RESOURCE, Code.PERMISSION_DENIED);
        TABLE.put(Reason.MODE_NOT_ALLOWED, Code.PERMISSION_DENIED);
        TABLE.put(Reason.SESSION_UNKNOWN, Code.FAILED_PRECONDITION);
        TABLE.put(Reason.NOT_HOLDER, Code.FAILED_PRECONDITION);
        TABLE.put(Reason.TOKEN_MISMATCH, Code.FAILED_PRECONDITION);
        TABLE.put(Reason.LEASE_EXPIRED, Code.FAILED_PRECONDITION);
        TABLE.put(Reason.TOKEN_STALE, Code.ABORTED);
        TABLE.put(Reason.QUEUE_FULL, Code.RESOURCE_EXHAUSTED);
        TABLE.put(Reason.LIMIT_EXCEEDED, Code.RESOURCE_EXHAUSTED);
        TABLE.put(Reason.TOKENS_EXHAUSTED, Code.RESOURCE_EXHAUSTED);
        TABLE.put(Reason.DRAINING, Code.UNAVAILABLE);
        TABLE.put(Reason.MARK_UNAVAILABLE, Code.UNAVAILABLE);
        TABLE.put(Reason.RECOVERING, Code.UNAVAILABLE);
        TABLE.put(Reason.SUSPECT_PRIMARY, Code.UNAVAILABLE);
        TABLE.put(Reason.STORE_UNAVAILABLE, Code.UNAVAILABLE);
        TABLE.put(Reason.NOT_ACTIVE, Code.UNAVAILABLE);
        TABLE.put(Reason.OUTCOME_UNKNOWN, Code.UNKNOWN);
    }

    @Test
    void reasonsStandInTheOrderOfPrecedence() {
        assertThat(Reason.values()).containsExactlyElementsOf(List.copyOf(TABLE.keySet()));
    }

    @ParameterizedTest
    @EnumSource
    void everyReasonHasItsCodeAndReturns(Reason reason) {
        Rejection rejection = new Rejection(
                reason, "what, where and what to do", Map.of(Rejection.LOCK, "orders/42", Rejection.APPLIED, "no"));
        StatusRuntimeException sent = Rejections.toStatus(rejection);
        assertThat(sent.getStatus().getCode())
                .isEqualTo(Rejections.code(reason))
                .isEqualTo(TABLE.get(reason));
        assertThat(sent.getStatus().getDescription()).isEqualTo("what, where and what to do");
        assertThat(Rejections.ofThrowable(sent)).contains(rejection);
        assertThat(Rejections.ofThrowable(new IllegalStateException("wrapped", sent)))
                .contains(rejection);
    }

    @Test
    void aFailureThatIsNotOursIsNoRejection() {
        assertThat(Rejections.ofThrowable(Status.UNAVAILABLE.asRuntimeException()))
                .isEmpty();
        assertThat(Rejections.ofThrowable(new IllegalStateException("no status")))
                .isEmpty();
        assertThat(Rejections.ofThrowable(with(Any.pack(ErrorInfo.newBuilder()
                        .setDomain("example.com")
                        .setReason("NOT_HOLDER")
                        .build()))))
                .isEmpty();
        assertThat(Rejections.ofThrowable(with(Any.newBuilder()
                        .setTypeUrl("type.googleapis.com/google.rpc.ErrorInfo")
                        .setValue(ByteString.copyFromUtf8("\u00ff\u00ff"))
                        .build())))
                .isEmpty();
    }

    @Test
    void aReasonOfANewerReleaseSaysNothingAboutTheOutcome() {
        assertThat(Rejections.ofThrowable(with(Any.pack(ErrorInfo.newBuilder()
                        .setDomain(Rejections.DOMAIN)
                        .setReason("INVENTED_LATER")
                        .build()))))
                .hasValueSatisfying(r -> assertThat(r.reason()).isEqualTo(Reason.OUTCOME_UNKNOWN));
    }

    private static StatusRuntimeException with(Any detail) {
        return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                .setCode(Code.UNKNOWN.value())
                .addDetails(detail)
                .build());
    }
}
