package dev.palisade.guard;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Time that passes when a test says so; alarms go off on the test's thread. */
final class ManualTime implements Time {
    private record Alarm(long atNanos, Runnable what) {}

    private final List<Alarm> alarms = new ArrayList<>();
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
        Alarm alarm = new Alarm(atNanos, what);
        alarms.add(alarm);
        return () -> takeBack(alarm);
    }

    @Override
    public synchronized void stop() {
        alarms.clear();
    }

    void pass(java.time.Duration time) {
        List<Alarm> due;
        synchronized (this) {
            nanos += time.toNanos();
            due = alarms.stream()
                    .filter(alarm -> alarm.atNanos() - nanos <= 0)
                    .sorted(Comparator.comparingLong(alarm -> alarm.atNanos() - nanos))
                    .toList();
            alarms.removeAll(due);
        }
        due.forEach(alarm -> alarm.what().run());
    }

    synchronized int alarms() {
        return alarms.size();
    }

    private synchronized void takeBack(Alarm alarm) {
        alarms.remove(alarm);
    }
}
