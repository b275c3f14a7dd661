package dev.palisade.guard.s3;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Exceptions of {@link FencedS3}: what happened, to which resource, whether anything was applied, what to do.
 * Stateless.
 */
final class S3FenceRejections {
    private S3FenceRejections() {}

    static RejectedException damaged(String resource, Exception cause) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' is not one that FencedS3 wrote (" + oneLine(cause)
                        + "); nothing was applied: restore the object with its x-amz-meta-palisade- headers",
                resource,
                cause);
    }

    static RejectedException unreadable(String resource, Exception cause) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "object '" + resource + "' cannot be read whole (" + oneLine(cause)
                        + "); nothing was applied: try again, and if it stays so restore the object",
                resource,
                cause);
    }

    static RejectedException forbidden(String resource, Exception cause) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' cannot be read or raised (" + oneLine(cause)
                        + "); nothing was applied: does the bucket exist, and has the user s3:GetObject, s3:PutObject"
                        + " and s3:ListBucket, without which a missing key is a 403",
                resource,
                cause);
    }

    static RejectedException unavailable(String resource, Exception cause) {
        return rejection(
                Reason.STORE_UNAVAILABLE,
                "the store that holds '" + resource + "' does not answer (" + oneLine(cause)
                        + "); nothing was applied: try again later",
                resource,
                cause);
    }

    static RejectedException busy(String resource, int tries) {
        return rejection(
                Reason.DRAINING,
                "other calls wrote '" + resource + "' before this one " + tries
                        + " times; nothing was applied: try again later",
                resource,
                null);
    }

    /** @param writeId of the try that got no clear reply */
    static RejectedException unknown(String resource, WriteId writeId, Exception cause) {
        String message =
                "a write of '" + resource + "' got no clear reply (" + oneLine(cause) + "); it may or may not be"
                        + " applied, now or later: read again under the lock, its write id is " + writeId;
        RejectedException exception = new Rejection(
                        Reason.OUTCOME_UNKNOWN,
                        message,
                        Map.of(
                                Rejection.RESOURCE,
                                resource,
                                Rejection.APPLIED,
                                "unknown",
                                FencedS3.WRITE_ID,
                                writeId.hex()))
                .asException();
        exception.initCause(cause);
        return exception;
    }

    /** Of a call of which nothing was applied. */
    private static RejectedException rejection(
            Reason reason, String message, String resource, @Nullable Throwable cause) {
        RejectedException exception = new Rejection(
                        reason, message, Map.of(Rejection.RESOURCE, resource, Rejection.APPLIED, "no"))
                .asException();
        if (cause != null) {
            exception.initCause(cause);
        }
        return exception;
    }

    private static String oneLine(Throwable failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
    }
}
