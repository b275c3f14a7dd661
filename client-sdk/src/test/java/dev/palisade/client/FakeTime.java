package dev.palisade.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A manual clock and wakeup timer: the test moves time, and due tasks run on its thread. */
final class FakeTime implements WakeupTimer {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private long nanos = 5_000_000_000L;
    private long wallMillis = 1_700_000_000_000L;
    private long dueNanos;

    @Nullable
    private Runnable wake;

    Clocks clocks() {
        return new Clocks(() -> nanos, () -> wallMillis);
    }

    long nanos() {
        return nanos;
    }

    @Override
    public void wakeIn(long delayNanos, Runnable newWake) {
        dueNanos = nanos + delayNanos;
        wake = newWake;
    }

    @Override
    public void stop() {
        wake = null;
    }

    void advanceMillis(long millis) {
        long target = nanos + millis * NANOS_PER_MILLI;
        while (wake != null && dueNanos - target <= 0) {
            moveTo(Math.max(nanos, dueNanos));
            Runnable due = wake;
            wake = null;
            due.run();
        }
        moveTo(target);
    }

    void advance(Duration by) {
        advanceMillis(by.toMillis());
    }

    /** Advances time without running due tasks, as for a stopped process. */
    void passUnnoticedMillis(long millis) {
        moveTo(nanos + millis * NANOS_PER_MILLI);
    }

    void stepWallMillis(long millis) {
        wallMillis += millis;
    }

    private void moveTo(long target) {
        wallMillis += target / NANOS_PER_MILLI - nanos / NANOS_PER_MILLI;
        nanos = target;
    }
}
