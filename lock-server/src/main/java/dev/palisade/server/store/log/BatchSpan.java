package dev.palisade.server.store.log;

/**
 * The range of batches that a log holds. Immutable.
 *
 * @param first number of the oldest
 * @param next number of the one to come
 * @param count of those between the two that are there; {@link #UNKNOWN} before the log was read
 */
public record BatchSpan(long first, long next, long count) {
    /** Count of a log that was not read yet. */
    public static final long UNKNOWN = -1;
    /** Of a log that holds none. */
    public static final BatchSpan NONE = new BatchSpan(1, 1, UNKNOWN);

    /** The same span of which {@code known} batches are there. */
    public BatchSpan withCount(long known) {
        return new BatchSpan(first, next, known);
    }

    /**
     * The span after one more append.
     *
     * @param dropped how many of those that are there are before {@code from}
     */
    public BatchSpan after(boolean stores, long from, long dropped) {
        int more = stores ? 1 : 0;
        return new BatchSpan(from, next + more, count == UNKNOWN ? UNKNOWN : count + more - dropped);
    }
}
