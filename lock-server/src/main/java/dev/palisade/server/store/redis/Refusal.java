package dev.palisade.server.store.redis;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A Redis that cannot be used, or a question of our own that it did not answer. The message is one line that names it. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    private final @Nullable String error;

    /** @param why goes on after the address, in brackets */
    Refusal(Address address, String why) {
        this("Redis " + address + " cannot be reached (" + why + ")", null);
    }

    private Refusal(String message, @Nullable String error) {
        super(message);
        this.error = error;
    }

    static Refusal byReply(Address address, String error) {
        return new Refusal(ErrorReply.of(error).line(address, error), error);
    }

    static Refusal of(String line) {
        return new Refusal(line, null);
    }

    /** What a future of this package failed with. */
    static Refusal of(Throwable failure) {
        boolean wrapped = failure instanceof CompletionException || failure instanceof ExecutionException;
        Throwable cause = wrapped && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof Refusal refusal ? refusal : new Refusal("Redis cannot be used (" + cause + ")", null);
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
