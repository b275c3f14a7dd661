package dev.palisade.check;

/**
 * Something happened by which the store of the lock servers may have lost data: what it had decided before, it may not know
 * since. Times are one machine's monotonic clock.
 *
 * @param beginNanos right before it
 * @param endNanos when the store answered again
 */
public record DataLost(long beginNanos, long endNanos) {
    /**
     * Whether it lies between two decisions, or may, so that the store may have taken the second without knowing of the first.
     *
     * @param firstNanos not after the first decision
     * @param secondNanos not before the second one
     */
    boolean between(long firstNanos, long secondNanos) {
        return firstNanos <= endNanos && secondNanos >= beginNanos;
    }
}
