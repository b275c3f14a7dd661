package dev.palisade.client;

/**
 * The client's view of the validity of one lease. Pure. It is counted from before the confirmed call was sent, so the
 * server's own count always starts later. A thousandth is subtracted for clock drift, and a margin of 20 ms.
 *
 * @param since both clocks before the send
 * @param ttlMillis what the server confirmed
 */
record LeaseView(ClockReading since, long ttlMillis) {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long MARGIN_NANOS = 20 * NANOS_PER_MILLI;
    private static final long DRIFT_DIVISOR = 1_000;

    /** Counted from {@code since}; zero or less for a ttl that is shorter than the margin. */
    long validNanos() {
        long ttlNanos = ttlMillis * NANOS_PER_MILLI;
        return ttlNanos - ttlNanos / DRIFT_DIVISOR - MARGIN_NANOS;
    }

    /** By the monotonic clock. The wall clock may end the lease earlier, never later. */
    long deadlineNanos() {
        return since.nanos() + validNanos();
    }

    /** The remaining time by the clock that leaves less of it; 0 when expired. */
    long leftNanos(ClockReading now) {
        long byMonotonic = deadlineNanos() - now.nanos();
        long byWall = validNanos() - (now.wallMillis() - since.wallMillis()) * NANOS_PER_MILLI;
        return Math.max(0, Math.min(byMonotonic, byWall));
    }

    boolean expired(ClockReading now) {
        return leftNanos(now) == 0;
    }

    /** The view that ends later: confirmations may arrive in another order than their requests were sent. */
    LeaseView later(LeaseView other) {
        return other.deadlineNanos() - deadlineNanos() > 0 ? other : this;
    }
}
