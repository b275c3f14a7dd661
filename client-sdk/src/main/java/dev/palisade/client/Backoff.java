package dev.palisade.client;

import java.util.function.DoubleSupplier;

/**
 * An exponential backoff with jitter between attempts to connect: none at first, then 20 ms doubling to 1 s, less up to
 * half. While a standby takes over, it is at most 100 ms, and none until each server was tried once. Pure.
 */
final class Backoff {
    private static final long FIRST_NANOS = 20_000_000;
    private static final long MAX_NANOS = 1_000_000_000;
    private static final long TAKEOVER_NANOS = 3_000_000_000L;
    private static final long TAKEOVER_DELAY_NANOS = 100_000_000;

    private final DoubleSupplier jitter;
    private long nextNanos;
    /** Number of refusals by standbys in a row. */
    private int standbys;

    private long standbySinceNanos;

    /** @param jitter 0.0 (inclusive) to 1.0: spreads clients that lost the same server */
    Backoff(DoubleSupplier jitter) {
        this.jitter = jitter;
    }

    private long nextDelayNanos() {
        long delay = nextNanos;
        nextNanos = Math.min(MAX_NANOS, Math.max(FIRST_NANOS, delay * 2));
        return delay - (long) (delay * 0.5 * jitter.getAsDouble());
    }

    /**
     * The delay before the next attempt, nanoseconds.
     *
     * @param isStandby whether the last attempt ended because that server is a standby
     * @param servers how many there are to try
     */
    long nextDelayNanos(boolean isStandby, int servers, long nowNanos) {
        if (isStandby && standbys++ == 0) {
            standbySinceNanos = nowNanos;
        }
        if (isStandby && standbys < servers) {
            return 0;
        }
        long delay = nextDelayNanos();
        boolean isTakeover = standbys > 0 && nowNanos - standbySinceNanos < TAKEOVER_NANOS;
        return isTakeover ? Math.min(delay, TAKEOVER_DELAY_NANOS) : delay;
    }

    /** A stream worked: the next failure is a new one. */
    void reset() {
        nextNanos = 0;
        standbys = 0;
    }
}
