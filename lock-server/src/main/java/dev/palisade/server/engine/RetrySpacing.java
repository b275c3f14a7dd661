package dev.palisade.server.engine;

import java.util.concurrent.atomic.AtomicLong;

/**
 * When the clients that a standby refuses may ask again: one each millisecond, so that thousands who lost the active server do not
 * keep the standby from taking over. Pure; safe to share between threads.
 */
final class RetrySpacing {
    private static final long LONGEST_MILLIS = 2_000;

    private final AtomicLong nextMillis = new AtomicLong();

    /** How long the one who is refused now is to wait: 0 to 2,000 ms. */
    long takeMillis(long nowMillis) {
        long next = nextMillis.getAndUpdate(taken ->
                nowMillis + Math.min(LONGEST_MILLIS, Math.max(0, taken - nowMillis) + 1));
        return Math.max(0, next - nowMillis);
    }
}
