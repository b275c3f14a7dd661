package dev.palisade.server.store.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.netty.channel.ConnectTimeoutException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Why a connection could not be made, in one line. */
final class ConnectFailure {
    /** Lettuce's words. */
    private static final String CLOSED_EARLY = "Connection closed prematurely";

    private ConnectFailure() {}

    /** Whether Redis closed the connection before its greeting was over. */
    static boolean isClosedEarly(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = next(cause)) {
            if (CLOSED_EARLY.equals(cause.getMessage())) {
                return true;
            }
        }
        return false;
    }

    static RedisUnusable refusal(Address address, Throwable failure) {
        Throwable last = failure;
        for (Throwable cause = failure; cause != null; cause = next(cause)) {
            if (cause instanceof RedisUnusable refusal) {
                return refusal;
            }
            if (cause instanceof RedisCommandExecutionException answered && answered.getMessage() != null) {
                return RedisUnusable.byReply(address, answered.getMessage());
            }
            if (cause instanceof ConnectTimeoutException) {
                return new RedisUnusable(address, "no answer");
            }
            if (cause instanceof SSLException) {
                return new RedisUnusable(address, "TLS: " + oneLine(cause));
            }
            if (cause instanceof UnknownHostException) {
                return new RedisUnusable(address, "no such host");
            }
            if (cause instanceof ConnectException) {
                return new RedisUnusable(address, "connection refused");
            }
            last = cause;
        }
        return new RedisUnusable(address, oneLine(last));
    }

    private static @Nullable Throwable next(Throwable failure) {
        return failure.getCause() == failure ? null : failure.getCause();
    }

    private static String oneLine(Throwable failure) {
        String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        return message.lines().findFirst().orElse(message);
    }
}
