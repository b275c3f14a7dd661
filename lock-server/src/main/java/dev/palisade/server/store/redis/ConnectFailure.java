package dev.palisade.server.store.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.netty.channel.ConnectTimeoutException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.util.Set;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Why a connection could not be made, in one line. */
final class ConnectFailure {
    /** Lettuce's words for a greeting that was cut short: the moment decides which. */
    private static final Set<String> CLOSED_EARLY =
            Set.of("Connection closed prematurely", "RedisHandshakeHandler not registered");

    private ConnectFailure() {}

    /** Whether Redis closed the connection before its greeting was over. */
    static boolean isClosedEarly(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = next(cause)) {
            if (isEarlyEnd(cause)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isEarlyEnd(Throwable failure) {
        return CLOSED_EARLY.contains(String.valueOf(failure.getMessage()));
    }

    /** @param tls whether the connection should have been encrypted */
    static RedisUnusable refusal(Address address, boolean tls, Throwable failure) {
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
            if (cause instanceof ConnectException) {
                return new RedisUnusable(address, "connection refused");
            }
            if (isEarlyEnd(cause) || isReset(cause)) {
                return new RedisUnusable(address, "it closed the connection" + otherScheme(tls));
            }
            if (cause instanceof UnknownHostException) {
                return new RedisUnusable(address, "no such host");
            }
            last = cause;
        }
        return new RedisUnusable(address, oneLine(last));
    }

    static RedisUnusable silence(Address address, boolean tls, long nanos) {
        return new RedisUnusable(
                address, "no answer within " + RedisUnusable.text(nanos) + (tls ? otherScheme(true) : ""));
    }

    /** A port that expects TLS closes a connection without it; one without TLS waits for the end of a line. */
    private static String otherScheme(boolean tls) {
        return tls ? "; if it is a port without TLS, use redis://" : "; if it is a port of TLS, use rediss://";
    }

    private static boolean isReset(Throwable cause) {
        return cause instanceof IOException
                && String.valueOf(cause.getMessage()).contains("Connection reset");
    }

    private static @Nullable Throwable next(Throwable failure) {
        return failure.getCause() == failure ? null : failure.getCause();
    }

    private static String oneLine(Throwable failure) {
        String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        return message.lines().findFirst().orElse(message);
    }
}
