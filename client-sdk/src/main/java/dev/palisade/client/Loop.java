package dev.palisade.client;

import io.grpc.SynchronizationContext;
import java.lang.System.Logger.Level;
import java.util.OptionalLong;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The one place where a client's state changes: tasks run one at a time, on the thread that the {@link Entry} chooses,
 * and brief ones {@link #here}. Bounded work only; it waits for nothing but such a brief one, and never runs the user's
 * code.
 */
final class Loop implements Executor {
    private static final System.Logger LOG = System.getLogger(Loop.class.getName());

    private final Clocks clocks;
    private final WakeupTimer wakeupTimer;
    private final TimerQueue timers = new TimerQueue();
    private final SynchronizationContext context;
    private final Entry entry;
    private final Consumer<Throwable> onBug;
    /** Who has it is in. */
    private final ReentrantLock inside = new ReentrantLock();

    private long armedForNanos;
    private boolean armed;

    /**
     * @param onBug told of what a task threw, in the loop
     */
    Loop(Clocks clocks, WakeupTimer wakeupTimer, Entry entry, Consumer<Throwable> onBug) {
        this.clocks = clocks;
        this.wakeupTimer = wakeupTimer;
        this.entry = entry;
        this.onBug = onBug;
        // Nothing a task throws comes as far: the loop's own lock is held while it is told of.
        this.context = new SynchronizationContext((thread, failure) -> bug(failure));
    }

    /** At once if nobody is in, else when those before are done. Inside the loop: after the present task. */
    @Override
    public void execute(Runnable task) {
        entry.enter(() -> context.execute(() -> inside(task)));
    }

    /**
     * Runs {@code task} on this thread, between two others, so that no thread is woken for it; null when it said so, or
     * when somebody is in. It may be any of the user's threads: the task is brief, and nothing that others have brought
     * runs on it.
     */
    <T> @Nullable T here(Supplier<@Nullable T> task) {
        if (inside.isHeldByCurrentThread() || !inside.tryLock()) {
            return null;
        }
        try {
            return task.get();
        } catch (RuntimeException | Error e) {
            execute(() -> bug(e));
            return null;
        } finally {
            inside.unlock();
        }
    }

    /** After all that was brought by now, also by other threads. */
    void behind(Runnable task) {
        entry.behind(() -> context.execute(() -> inside(task)));
    }

    private void inside(Runnable task) {
        inside.lock();
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            bug(e);
        } finally {
            inside.unlock();
        }
    }

    private void bug(Throwable failure) {
        LOG.log(Level.WARNING, "unexpected failure in the client", failure);
        onBug.accept(failure);
    }

    ClockReading now() {
        return clocks.now();
    }

    /** Schedules {@code task} at a reading of the monotonic clock. In the loop only. */
    TimerQueue.ScheduledTask scheduleAt(long dueNanos, Runnable task) {
        TimerQueue.ScheduledTask scheduled = timers.add(dueNanos, task);
        arm();
        return scheduled;
    }

    /** Schedules {@code task} after a delay. In the loop only. */
    TimerQueue.ScheduledTask schedule(long delayNanos, Runnable task) {
        return scheduleAt(now().nanos() + delayNanos, task);
    }

    /** In the loop only. */
    void cancel(TimerQueue.@Nullable ScheduledTask task) {
        timers.cancel(task);
    }

    private void arm() {
        OptionalLong next = timers.nextDueNanos();
        if (next.isEmpty() || (armed && armedForNanos - next.getAsLong() <= 0)) {
            return;
        }
        armed = true;
        armedForNanos = next.getAsLong();
        wakeupTimer.wakeIn(Math.max(0, armedForNanos - now().nanos()), () -> execute(this::wake));
    }

    private void wake() {
        armed = false;
        Runnable due = timers.pollDue(now().nanos());
        if (due == null) {
            arm();
            return;
        }
        // One at a time through the context: a task that throws must not keep the timer from being armed again.
        execute(this::wake);
        due.run();
    }
}
