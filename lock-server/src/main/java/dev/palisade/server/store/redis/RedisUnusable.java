package dev.palisade.server.store.redis;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A failure of a Redis that cannot be used, or that did not reply to a query of ours. The message is one line that names it. */
final class RedisUnusable extends Exception {
    private static final long serialVersionUID = 1L;

    private final @Nullable String error;

    /** @param why goes on after the address, in brackets */
    RedisUnusable(Address address, String why) {
        this("Redis " + address + " cannot be reached (" + why + ")", null);
    }

    private RedisUnusable(String message, @Nullable String error) {
        super(message);
        this.error = error;
    }

    static RedisUnusable byReply(Address address, String error) {
        return new RedisUnusable(ErrorReply.of(error).line(address, error), error);
    }

    static RedisUnusable of(String line) {
        return new RedisUnusable(line, null);
    }

    /** What a future of this package failed with. */
    static RedisUnusable of(Throwable failure) {
        boolean wrapped = failure instanceof CompletionException || failure instanceof ExecutionException;
        Throwable cause = wrapped && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof RedisUnusable refusal
                ? refusal
                : new RedisUnusable("Redis cannot be used (" + cause + ")", null);
    }

    /** What Redis answered, if it was an error. */
    @Nullable
    String error() {
        return error;
    }

    static String text(long nanos) {
        long millis = TimeUnit.NANOSECONDS.toMillis(nanos);
        return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
    }
}
