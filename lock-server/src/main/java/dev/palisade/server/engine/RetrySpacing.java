package dev.palisade.server.engine;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The pauses of clients that a standby rejects: one client retries each millisecond, because retries of thousands of clients delay a
 * takeover. Pure; safe to share between threads.
 */
final class RetrySpacing {
    private static final long LONGEST_MILLIS = 2_000;

    private final AtomicLong nextMillis = new AtomicLong();

    /** The pause of a client that is rejected now: 0 to 2,000 ms. */
    long takeMillis(long nowMillis) {
        long next = nextMillis.getAndUpdate(taken ->
                nowMillis + Math.min(LONGEST_MILLIS, Math.max(0, taken - nowMillis) + 1));
        return Math.max(0, next - nowMillis);
    }
}
