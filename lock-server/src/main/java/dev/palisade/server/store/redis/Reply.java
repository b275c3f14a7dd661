package dev.palisade.server.store.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a function will have answered: a list of {@link Long}, {@code byte[]}, null and lists of such; the answer itself in a list
 * of one if it is no list. Ends with {@link dev.palisade.server.store.StoreFailure} otherwise. It remembers who answered, also if with an
 * error.
 */
final class Reply extends CompletableFuture<List<Object>> {
    /** Set before it ends, on the loop. */
    private volatile @Nullable RedisConnection from;
    /** The last error that Redis answered; as {@code from}. */
    private volatile @Nullable String error;

    @Nullable
    RedisConnection from() {
        return from;
    }

    void from(RedisConnection connection) {
        from = connection;
    }

    void error(String line) {
        error = line;
    }

    /** Whether Redis said that the call did not run, and that asking elsewhere or again changes nothing. */
    boolean isRefused() {
        String last = error;
        return last != null && ErrorReply.of(last).fate() == ErrorReply.Fate.REFUSED;
    }
}
