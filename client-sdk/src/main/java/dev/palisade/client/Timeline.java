package dev.palisade.client;

import java.util.OptionalLong;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What is to happen when, in order. Pure: it never looks at a clock and never runs anything by itself. One thread at a time. */
final class Timeline {
    /** One thing to happen. */
    static final class Entry {
        private final long dueNanos;
        private final long order;
        private final Runnable task;

        private Entry(long dueNanos, long order, Runnable task) {
            this.dueNanos = dueNanos;
            this.order = order;
            this.task = task;
        }

        long dueNanos() {
            return dueNanos;
        }
    }

    private final TreeSet<Entry> entries = new TreeSet<>(Timeline::compare);
    private long nextOrder;

    Entry add(long dueNanos, Runnable task) {
        Entry entry = new Entry(dueNanos, nextOrder++, task);
        entries.add(entry);
        return entry;
    }

    void cancel(@Nullable Entry entry) {
        if (entry != null) {
            entries.remove(entry);
        }
    }

    OptionalLong nextDueNanos() {
        return entries.isEmpty() ? OptionalLong.empty() : OptionalLong.of(entries.first().dueNanos);
    }

    /** The first task that is due, taken out; null when none is. */
    @Nullable
    Runnable pollDue(long nowNanos) {
        if (entries.isEmpty() || entries.first().dueNanos - nowNanos > 0) {
            return null;
        }
        Entry entry = entries.first();
        entries.remove(entry);
        return entry.task;
    }

    /** By difference, as the monotonic clock may pass the end of the number line. */
    private static int compare(Entry a, Entry b) {
        int byTime = Long.signum(a.dueNanos - b.dueNanos);
        return byTime != 0 ? byTime : Long.compare(a.order, b.order);
    }
}
