package dev.palisade.guard.redis;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import io.lettuce.core.RedisCommandExecutionException;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Exceptions of {@link FencedRedis}: what happened, to which resource, whether anything was applied, what to do. Stateless. */
final class RedisFenceRejections {
    /** Redis says these before it runs a script, or at the first write of one. */
    private static final Set<String> NOT_NOW = Set.of(
            "ASK",
            "BUSY",
            "CLUSTERDOWN",
            "LOADING",
            "MASTERDOWN",
            "MISCONF",
            "MOVED",
            "NOREPLICAS",
            "OOM",
            "READONLY",
            "TRYAGAIN");

    private static final Set<String> NOT_ALLOWED = Set.of("CROSSSLOT", "NOAUTH", "NOPERM", "WRONGTYPE");

    private RedisFenceRejections() {}

    /**
     * Says of an error reply whether anything was applied. Redis' own errors mean that nothing was, as {@code fence.lua} raises
     * nothing after its first write. Any other may be of a proxy, which can lose what Redis replied.
     */
    static RuntimeException ofError(String resource, RedisCommandExecutionException error) {
        String line = oneLine(error);
        String code = line.split(" ", 2)[0];
        if (line.contains("Error compiling script")) {
            return new RedisCommandExecutionException(
                    line + " (the script on '" + resource + "'; nothing was applied, the mark is as before)", error);
        }
        if (NOT_NOW.contains(code)) {
            return rejection(
                    Reason.STORE_UNAVAILABLE,
                    "the Redis that holds '" + resource + "' takes no writes here (" + line
                            + "); nothing was applied: try again later",
                    resource,
                    "no",
                    error);
        }
        if (NOT_ALLOWED.contains(code) || line.contains("@user_script") || line.startsWith("ERR unknown command")) {
            return unreadable(resource, error);
        }
        return rejection(
                Reason.OUTCOME_UNKNOWN,
                "the call on '" + resource + "' got an error that is none of Redis' own (" + line
                        + "); it may or may not be applied: read again under the lock",
                resource,
                "unknown",
                error);
    }

    static RejectedException unreadable(String resource, Exception error) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' cannot be read or raised (" + oneLine(error)
                        + "); nothing was applied: let the user run EVAL, EVALSHA, HMGET, HSET, TIME, INFO and TYPE, and"
                        + " use the keys palisade:fence:*",
                resource,
                "no",
                error);
    }

    static RejectedException damaged(String resource) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' is not one that FencedRedis wrote; nothing was applied: restore the key"
                        + " palisade:fence:{" + resource + "}, do not delete it",
                resource,
                "no",
                null);
    }

    static RejectedException evicts(String resource, String policy) {
        return rejection(
                Reason.MARK_UNAVAILABLE,
                "'" + resource + "' has no mark, and with maxmemory-policy " + policy + " Redis may have evicted it;"
                        + " nothing was applied: set noeviction or a volatile policy",
                resource,
                "no",
                null);
    }

    static RejectedException unavailable(String resource, @Nullable Throwable cause) {
        return rejection(
                Reason.STORE_UNAVAILABLE,
                "the Redis that holds '" + resource + "' cannot be reached (" + oneLine(cause)
                        + "); nothing was applied: try again later",
                resource,
                "no",
                cause);
    }

    static RejectedException unknown(String resource, @Nullable Throwable cause) {
        return rejection(
                Reason.OUTCOME_UNKNOWN,
                "the call on '" + resource + "' got no reply (" + oneLine(cause)
                        + "); it may or may not be applied: read again under the lock",
                resource,
                "unknown",
                cause);
    }

    static RejectedException partlyApplied(String resource, int failed, int commandsInAll, String error) {
        String applied = failed == 2 ? "command 1 was" : "commands 1 to " + (failed - 1) + " were";
        String rest = failed == commandsInAll ? "" : ", the rest did not run";
        return new Rejection(
                        Reason.OUTCOME_UNKNOWN,
                        "command " + failed + " of " + commandsInAll + " on '" + resource + "' failed (" + error + "); "
                                + applied + " applied and Redis does not roll back" + rest
                                + ": read again under the lock",
                        Map.of(
                                Rejection.RESOURCE,
                                resource,
                                Rejection.APPLIED,
                                "unknown",
                                FencedRedis.COMMANDS_APPLIED,
                                Integer.toString(failed - 1)))
                .asException();
    }

    static RejectedException scriptFailed(String resource, String error) {
        return rejection(
                Reason.OUTCOME_UNKNOWN,
                "the script on '" + resource + "' failed (" + error
                        + "); what it wrote before stays applied, Redis does not roll back: read again under the lock",
                resource,
                "unknown",
                null);
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

    private static String oneLine(@Nullable Throwable failure) {
        return failure == null
                ? "the connection broke"
                : String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
    }
}
