package dev.palisade.server.store.log;

/**
 * Bounds of a {@link LoggedStore}.
 *
 * @param locksMax names known at one time, in use or remembered; an acquire of another is LIMIT_EXCEEDED
 * @param waitersMax waiters of all locks together, those with an offer too; an acquire that would wait is LIMIT_EXCEEDED
 * @param unusedMax names out of use whose ends are remembered at one time; the oldest are forgotten early
 * @param queueMax commands waiting for the writer; STORE_UNAVAILABLE beyond
 * @param historyMax entries of history in memory, of all locks together; the oldest go first
 */
public record LoggedStoreConfig(int locksMax, int waitersMax, int unusedMax, int queueMax, int historyMax) {
    public static final LoggedStoreConfig DEFAULTS =
            new LoggedStoreConfig(1_000_000, 100_000, 200_000, 200_000, 100_000);

    public LoggedStoreConfig withLocksMax(int max) {
        return new LoggedStoreConfig(max, waitersMax, unusedMax, queueMax, historyMax);
    }
}
