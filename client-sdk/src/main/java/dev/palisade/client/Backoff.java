package dev.palisade.client;

import java.util.function.DoubleSupplier;

/** How long to wait before the next attempt to connect. Pure: at once, then 20 ms doubling to 1 s, less up to half. */
final class Backoff {
    private static final long FIRST_NANOS = 20_000_000;
    private static final long MAX_NANOS = 1_000_000_000;

    private final DoubleSupplier jitter;
    private long nextNanos;

    /** @param jitter 0.0 (inclusive) to 1.0: spreads clients that lost the same server */
    Backoff(DoubleSupplier jitter) {
        this.jitter = jitter;
    }

    /** The delay before the attempt that is due now, nanoseconds. */
    long nextDelayNanos() {
        long delay = nextNanos;
        nextNanos = Math.min(MAX_NANOS, Math.max(FIRST_NANOS, delay * 2));
        return delay - (long) (delay * 0.5 * jitter.getAsDouble());
    }

    /** A stream worked: the next failure is a new one. */
    void reset() {
        nextNanos = 0;
    }
}
