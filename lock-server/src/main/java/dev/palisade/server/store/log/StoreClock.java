package dev.palisade.server.store.log;

import java.util.function.LongSupplier;

/** The store's time: starts at the later of the wall clock and what was last written, and moves with the monotonic clock. */
final class StoreClock {
    private final long startMillis;
    private final long startNanos;
    private final LongSupplier nanoTime;

    StoreClock(long wallMillis, long lastWrittenMillis, LongSupplier nanoTime) {
        this.startMillis = Math.max(wallMillis, lastWrittenMillis);
        this.nanoTime = nanoTime;
        this.startNanos = nanoTime.getAsLong();
    }

    long nowMillis() {
        return startMillis + (nanoTime.getAsLong() - startNanos) / 1_000_000;
    }
}
