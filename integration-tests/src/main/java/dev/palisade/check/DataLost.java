package dev.palisade.check;

/**
 * Event that may have deleted decisions in the store of the lock servers. Times are of one machine's monotonic clock.
 *
 * @param beginNanos right before the event
 * @param endNanos when the store replied again
 */
public record DataLost(long beginNanos, long endNanos) {
    /**
     * Whether it may lie between two decisions, so that the second was possibly made without the first.
     *
     * @param firstNanos not after the first decision
     * @param secondNanos not before the second one
     */
    boolean between(long firstNanos, long secondNanos) {
        return firstNanos <= endNanos && secondNanos >= beginNanos;
    }
}
