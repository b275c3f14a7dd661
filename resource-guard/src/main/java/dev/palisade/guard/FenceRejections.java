package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Exceptions of {@link FencedJdbc}: what happened, to which resource, whether anything was applied, what to do. Stateless. */
final class FenceRejections {
    private FenceRejections() {}

    static RejectedException draining(String resource, Duration lockWait, SQLException cause) {
        return rejection(
                Reason.DRAINING,
                "calls of other grants on '" + resource + "' did not end within " + lockWait.toMillis()
                        + " ms; nothing was applied: try again",
                resource,
                "no",
                cause);
    }

    static RejectedException rolledBack(String resource, int runs, @Nullable SQLException cause) {
        return rejection(
                Reason.DRAINING,
                "the database rolled the call on '" + resource + "' back " + runs
                        + " times; nothing was applied: try again later",
                resource,
                "no",
                cause);
    }

    static RejectedException markUnavailable(String resource, SQLException cause) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' cannot be read or raised (" + oneLine(cause)
                        + "); nothing was applied: is the table palisade_fence there (createTable) and writable?",
                resource,
                "no",
                cause);
    }

    static RejectedException unavailable(String resource, SQLException cause) {
        return rejection(
                Reason.STORE_UNAVAILABLE,
                "the database that holds '" + resource + "' cannot be reached (" + oneLine(cause)
                        + "); nothing was applied: try again later",
                resource,
                "no",
                cause);
    }

    static RejectedException commitUnknown(String resource, SQLException cause) {
        return rejection(
                Reason.OUTCOME_UNKNOWN,
                "the commit on '" + resource + "' got no answer (" + oneLine(cause)
                        + "); it may or may not be applied: read again under the lock",
                resource,
                "unknown",
                cause);
    }

    static RejectedException checkLost(String resource) {
        return rejection(
                Reason.OUTCOME_UNKNOWN,
                "the transaction on '" + resource
                        + "' lost its check before the commit: it was rolled back to an older"
                        + " savepoint or ended in between; run no DDL in it, heed its errors, read again",
                resource,
                "unknown",
                null);
    }

    /** Local misuse: a retry of the same call would fail in the same way, so it is not a {@link Reason} of the protocol. */
    static IllegalStateException readOnly(String resource, @Nullable SQLException cause) {
        return new IllegalStateException(
                "the check of '" + resource + "' needs a read-write transaction, and this one is read-only or on a"
                        + " standby; nothing was applied: a guarded read raises the mark too, so drop readOnly and use"
                        + " the primary",
                cause);
    }

    /** The mark moved between two statements, or the transaction's snapshot is older than its row. */
    static SQLTransactionRollbackException moved(String resource) {
        return new SQLTransactionRollbackException(
                "the mark of '" + resource + "' moved; nothing was applied: run the transaction again", "40001");
    }

    /** Not every driver has the type that JDBC has for it; callers should need to know one only. */
    static SQLTransactionRollbackException inOneType(SQLException failure) {
        return failure instanceof SQLTransactionRollbackException alreadyOne
                ? alreadyOne
                : new SQLTransactionRollbackException(failure.getMessage(), failure.getSQLState(), failure);
    }

    private static RejectedException rejection(
            Reason reason, String message, String resource, String applied, @Nullable Throwable cause) {
        RejectedException exception = new Rejection(
                        reason, message, Map.of(Rejection.RESOURCE, resource, Rejection.APPLIED, applied))
                .asException();
        if (cause != null) {
            exception.initCause(cause);
        }
        return exception;
    }

    private static String oneLine(SQLException failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
    }
}
