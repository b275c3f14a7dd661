package dev.palisade.client;

/**
 * How long a holder may believe in its lease. Pure. Counted from before the sending of what was confirmed, so that the
 * server's own count always starts later; shortened by a thousandth for drift and by 20 ms for the margin.
 *
 * @param since the moment before the send
 * @param ttlMillis what the server confirmed
 */
record LeaseView(Moment since, long ttlMillis) {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long MARGIN_NANOS = 20 * NANOS_PER_MILLI;
    private static final long DRIFT_DIVISOR = 1_000;

    /** From {@code since}; zero or less for a ttl that the margin eats up. */
    long validNanos() {
        long ttlNanos = ttlMillis * NANOS_PER_MILLI;
        return ttlNanos - ttlNanos / DRIFT_DIVISOR - MARGIN_NANOS;
    }

    /** By the monotonic clock. The wall clock may end the lease earlier, never later. */
    long deadlineNanos() {
        return since.nanos() + validNanos();
    }

    /** What is left by the clock that says less; 0 when expired. */
    long leftNanos(Moment now) {
        long byMonotonic = deadlineNanos() - now.nanos();
        long byWall = validNanos() - (now.wallMillis() - since.wallMillis()) * NANOS_PER_MILLI;
        return Math.max(0, Math.min(byMonotonic, byWall));
    }

    boolean expired(Moment now) {
        return leftNanos(now) == 0;
    }

    /** The view that ends later: confirmations may be read in another order than they were asked for. */
    LeaseView later(LeaseView other) {
        return other.deadlineNanos() - deadlineNanos() > 0 ? other : this;
    }
}
