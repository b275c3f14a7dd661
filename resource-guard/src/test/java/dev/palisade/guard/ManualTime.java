package dev.palisade.guard;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Clock that a test advances; timers run on the thread of the test. */
final class ManualTime implements Time {
    private record Timer(long atNanos, Runnable what) {}

    private final List<Timer> timers = new ArrayList<>();
    private long nanos = Long.MAX_VALUE - 1_000_000_000; // Runs over during many a test.
    /** By which each reading of the clock is later than the one before: 0 unless a test lets time pass within a step. */
    long nanosPerReading;

    @Override
    public synchronized long nanos() {
        long read = nanos;
        nanos += nanosPerReading;
        return read;
    }

    @Override
    public long millis() {
        return 1_700_000_000_000L;
    }

    @Override
    public synchronized Runnable at(long atNanos, Runnable what) {
        Timer timer = new Timer(atNanos, what);
        timers.add(timer);
        return () -> cancel(timer);
    }

    @Override
    public synchronized void stop() {
        timers.clear();
    }

    void pass(java.time.Duration time) {
        List<Timer> due;
        synchronized (this) {
            nanos += time.toNanos();
            due = timers.stream()
                    .filter(timer -> timer.atNanos() - nanos <= 0)
                    .sorted(Comparator.comparingLong(timer -> timer.atNanos() - nanos))
                    .toList();
            timers.removeAll(due);
        }
        due.forEach(timer -> timer.what().run());
    }

    synchronized int timers() {
        return timers.size();
    }

    private synchronized void cancel(Timer timer) {
        timers.remove(timer);
    }
}
