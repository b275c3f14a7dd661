package dev.palisade.server.store.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a function will have answered: a list of {@link Long}, {@code byte[]}, null and lists of such; the answer itself in a list
 * of one if it is no list. Ends with {@link dev.palisade.server.store.StoreFailure} otherwise. It remembers who answered.
 */
final class Reply extends CompletableFuture<List<Object>> {
    /** Set before it ends, on the loop. */
    private volatile @Nullable Wire from;

    private final int slot;

    Reply(int slot) {
        this.slot = slot;
    }

    int slot() {
        return slot;
    }

    @Nullable
    Wire from() {
        return from;
    }

    void from(Wire wire) {
        from = wire;
    }
}
