package dev.palisade.server.store.log;

import dev.palisade.server.store.StoreFailure;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What a batch came to, told only when the batch is stored.
 *
 * @param replies complete {@code futures}
 * @param futures of those who wait for a reply
 * @param dueMillis when they are told that the outcome is unknown
 */
record SyncedResults(
        List<Runnable> replies, List<CommandBatch.Change> changes, List<CompletableFuture<?>> futures, long dueMillis) {
    /** Ends the wait of the callers; the batch may still be stored, and its changes be told. */
    void outcomeUnknown(String why) {
        for (CompletableFuture<?> future : futures) {
            future.completeExceptionally(StoreFailure.outcomeUnknown(why));
        }
    }
}
