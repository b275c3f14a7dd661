package dev.palisade.client;

import java.util.OptionalLong;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A timer queue: scheduled tasks in the order of their due times. Pure: it never reads a clock and never runs a task.
 * For one thread at a time.
 */
final class TimerQueue {
    /** A task and its due time; also the handle that cancels it. */
    static final class ScheduledTask {
        private final long dueNanos;
        private final long order;
        private final Runnable task;

        private ScheduledTask(long dueNanos, long order, Runnable task) {
            this.dueNanos = dueNanos;
            this.order = order;
            this.task = task;
        }

        long dueNanos() {
            return dueNanos;
        }
    }

    private final TreeSet<ScheduledTask> scheduled = new TreeSet<>(TimerQueue::compare);
    private long nextOrder;

    ScheduledTask add(long dueNanos, Runnable task) {
        ScheduledTask added = new ScheduledTask(dueNanos, nextOrder++, task);
        scheduled.add(added);
        return added;
    }

    void cancel(@Nullable ScheduledTask task) {
        if (task != null) {
            scheduled.remove(task);
        }
    }

    OptionalLong nextDueNanos() {
        return scheduled.isEmpty() ? OptionalLong.empty() : OptionalLong.of(scheduled.first().dueNanos);
    }

    /** Removes and returns the first task that is due; null if none is. */
    @Nullable
    Runnable pollDue(long nowNanos) {
        if (scheduled.isEmpty() || scheduled.first().dueNanos - nowNanos > 0) {
            return null;
        }
        ScheduledTask first = scheduled.first();
        scheduled.remove(first);
        return first.task;
    }

    /** Compares by difference, because the monotonic clock may overflow. */
    private static int compare(ScheduledTask a, ScheduledTask b) {
        int byTime = Long.signum(a.dueNanos - b.dueNanos);
        return byTime != 0 ? byTime : Long.compare(a.order, b.order);
    }
}
