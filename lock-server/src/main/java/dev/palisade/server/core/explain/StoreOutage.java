package dev.palisade.server.core.explain;

/**
 * A time in which the store refused what this lock server asked of it: no lease could be renewed then.
 *
 * @param lastRefusedAtMillis when the last of the calls was refused, so far
 * @param refused calls
 * @param isOver whether the store has answered since
 */
public record StoreOutage(long beganAtMillis, long lastRefusedAtMillis, long refused, boolean isOver) {
    /** Whether some of it is between the two times. */
    public boolean overlaps(long fromMillis, long toMillis) {
        return beganAtMillis <= toMillis && lastRefusedAtMillis >= fromMillis;
    }
}
