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
    private static final int LOCKS_MAX = 1_000_000;

    /** Of a held lock with a short name, and of its session. */
    private static final int HEAP_BYTES_PER_LOCK = 1_300;

    public static final LoggedStoreConfig DEFAULTS =
            new LoggedStoreConfig(LOCKS_MAX, 100_000, 200_000, 200_000, 100_000);

    /** How many locks take half of a heap, and at most the default: the other half is for requests, waiters and history. */
    public static int locksMax(long heapBytes) {
        return (int) Math.max(1, Math.min(LOCKS_MAX, heapBytes / 2 / HEAP_BYTES_PER_LOCK));
    }

    /**
     * The same with another limit of names. Remembered names take at most half of it: beyond, the oldest are forgotten early, so that they
     * do not keep new ones out.
     */
    public LoggedStoreConfig withLocksMax(int max) {
        return new LoggedStoreConfig(max, waitersMax, Math.min(unusedMax, max / 2), queueMax, historyMax);
    }
}
