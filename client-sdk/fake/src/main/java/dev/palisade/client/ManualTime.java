package dev.palisade.client;

import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The manual clock of a fake, shared by its server and all its clients. Time stands until a thread advances it; due
 * tasks run in order, on that thread. Safe for use by many threads.
 */
final class ManualTime {
    /** 2026-01-01T00:00Z. */
    private static final long START_MILLIS = 1_767_225_600_000L;

    static final long FOR_EVER = Long.MAX_VALUE;

    private static final long NANOS_PER_MILLI = 1_000_000;

    private final TimerQueue timers = new TimerQueue();
    private long nanos;

    synchronized long nanos() {
        return nanos;
    }

    long wallMillis() {
        return START_MILLIS + nanos() / NANOS_PER_MILLI;
    }

    Clocks clocks() {
        return new Clocks(this::nanos, this::wallMillis);
    }

    synchronized TimerQueue.ScheduledTask schedule(long delayNanos, Runnable task) {
        return timers.add(nanos + Math.max(0, delayNanos), task);
    }

    TimerQueue.ScheduledTask scheduleAtWallMillis(long millis, Runnable task) {
        return schedule((millis - START_MILLIS) * NANOS_PER_MILLI - nanos(), task);
    }

    synchronized void cancel(TimerQueue.@Nullable ScheduledTask task) {
        timers.cancel(task);
    }

    void advance(Duration by) {
        long target = nanos() + by.toNanos();
        while (step(target)) {
            // step runs one due task
        }
    }

    /**
     * Advances to the next due task and runs it. If none is due until {@code untilNanos}, it advances to that time,
     * unless it is {@link #FOR_EVER}, and returns false.
     */
    boolean step(long untilNanos) {
        Runnable due;
        synchronized (this) {
            OptionalLong next = timers.nextDueNanos();
            if (next.isEmpty() || next.getAsLong() > untilNanos) {
                nanos = untilNanos == FOR_EVER ? nanos : Math.max(nanos, untilNanos);
                return false;
            }
            nanos = Math.max(nanos, next.getAsLong());
            due = timers.pollDue(nanos);
        }
        if (due != null) {
            due.run();
        }
        return true;
    }

    /** The wakeup timer of one client. */
    final class ClientWakeupTimer implements WakeupTimer {
        private TimerQueue.@Nullable ScheduledTask armed;
        private boolean stopped;

        @Override
        public void wakeIn(long delayNanos, Runnable wake) {
            synchronized (ManualTime.this) {
                cancel(armed);
                armed = stopped ? null : schedule(delayNanos, wake);
            }
        }

        @Override
        public void stop() {
            synchronized (ManualTime.this) {
                stopped = true;
                cancel(armed);
            }
        }
    }
}
