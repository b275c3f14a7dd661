package dev.palisade.server.core;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.Map;

/**
 * Every limit of a lock by name, in milliseconds where it is a time.
 *
 * @param offerMillis how long an offer stands before it lapses
 * @param waitersPerLockMax QUEUE_FULL beyond
 * @param holdersPerLockMax SHARED holders and offers at one time; beyond, a try gets LIMIT_EXCEEDED and others wait
 * @param acquireAgeMaxMillis an unknown acquire first sent longer ago is refused: it may be a duplicate whose end is forgotten
 */
public record Limits(
        long ttlMinMillis,
        long ttlDefaultMillis,
        long ttlMaxMillis,
        long waitMaxMillis,
        long lockDelayMaxMillis,
        long lockAtLeastForMaxMillis,
        long offerMillis,
        int waitersPerLockMax,
        int holdersPerLockMax,
        long acquireAgeMaxMillis) {
    /** How long the end of a request is remembered. Twice the age at which an unknown acquire is refused. */
    public static final long TOMBSTONE_MILLIS = 60_000;

    /**
     * Ends remembered per lock, and as many failed tries; the oldest go first, and an unknown acquire older than a forgotten one is
     * refused.
     */
    public static final int TOMBSTONES_PER_LOCK_MAX = 256;

    public static final Limits DEFAULTS =
            new Limits(1_000, 10_000, 300_000, 24 * 3_600_000L, 60_000, 3_600_000, 2_000, 2_000, 2_000, 30_000);

    /** The rejection of a request that is beyond a limit, by the limit's name. */
    public static Rejection exceeded(String limit, String message) {
        return new Rejection(Reason.LIMIT_EXCEEDED, message, Map.of(Rejection.LIMIT, limit));
    }
}
