package dev.palisade.server.store.embedded;

import java.nio.file.Path;

/**
 * @param directory one store, one process
 * @param durability what must have happened before anything is answered
 * @param locksMax names known at one time, in use or remembered; an acquire of another is LIMIT_EXCEEDED
 * @param waitersMax waiters of all locks together, those with an offer too; an acquire that would wait is LIMIT_EXCEEDED
 * @param unusedMax names out of use whose ends are remembered at one time; the oldest are forgotten early
 * @param queueMax commands waiting for the writer; STORE_UNAVAILABLE beyond
 * @param historyMax entries of history in memory, of all locks together; the oldest go first
 */
public record EmbeddedConfig(
        Path directory,
        Durability durability,
        int locksMax,
        int waitersMax,
        int unusedMax,
        int queueMax,
        int historyMax) {
    public static EmbeddedConfig in(Path directory) {
        return new EmbeddedConfig(directory, Durability.SYNCED, 1_000_000, 100_000, 200_000, 200_000, 100_000);
    }
}
