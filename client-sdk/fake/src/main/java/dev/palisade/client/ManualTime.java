package dev.palisade.client;

import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The one time of a fake, for its server and all its clients: it stands until somebody moves it, and what is due happens in order, on
 * the thread of whoever does. Safe for use by many threads.
 */
final class ManualTime {
    /** 2026-01-01T00:00Z. */
    private static final long START_MILLIS = 1_767_225_600_000L;

    static final long FOR_EVER = Long.MAX_VALUE;

    private static final long NANOS_PER_MILLI = 1_000_000;

    private final Timeline timeline = new Timeline();
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

    synchronized Timeline.Entry in(long delayNanos, Runnable task) {
        return timeline.add(nanos + Math.max(0, delayNanos), task);
    }

    Timeline.Entry atWallMillis(long millis, Runnable task) {
        return in((millis - START_MILLIS) * NANOS_PER_MILLI - nanos(), task);
    }

    synchronized void cancel(Timeline.@Nullable Entry entry) {
        timeline.cancel(entry);
    }

    void advance(Duration by) {
        long target = nanos() + by.toNanos();
        while (step(target)) {
            // one after the other
        }
    }

    /**
     * Moves to what is due next and does it; false when nothing is due until {@code untilNanos}, and it is that late then, unless that
     * is for ever.
     */
    boolean step(long untilNanos) {
        Runnable due;
        synchronized (this) {
            OptionalLong next = timeline.nextDueNanos();
            if (next.isEmpty() || next.getAsLong() > untilNanos) {
                nanos = untilNanos == FOR_EVER ? nanos : Math.max(nanos, untilNanos);
                return false;
            }
            nanos = Math.max(nanos, next.getAsLong());
            due = timeline.pollDue(nanos);
        }
        if (due != null) {
            due.run();
        }
        return true;
    }

    /** A client's: one thing to wake it for at a time. */
    final class ClientAlarm implements Alarm {
        private Timeline.@Nullable Entry armed;
        private boolean stopped;

        @Override
        public void wakeIn(long delayNanos, Runnable wake) {
            synchronized (ManualTime.this) {
                cancel(armed);
                armed = stopped ? null : in(delayNanos, wake);
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
