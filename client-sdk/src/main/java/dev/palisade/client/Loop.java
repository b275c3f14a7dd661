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
 * A serial executor for the state of one client, with timers. Tasks run one at a time, on the thread of the {@link
 * LoopExecutor}; {@link #tryRun} runs brief tasks on other threads. It does bounded work only, blocks only for a brief
 * task, and never runs the user's code.
 */
final class Loop implements Executor {
    private static final System.Logger LOG = System.getLogger(Loop.class.getName());

    private final Clocks clocks;
    private final WakeupTimer wakeupTimer;
    private final TimerQueue timers = new TimerQueue();
    private final SynchronizationContext context;
    private final LoopExecutor executor;
    private final Consumer<Throwable> onBug;
    /** Held by the thread that runs a task. */
    private final ReentrantLock taskLock = new ReentrantLock();

    private long armedForNanos;
    private boolean armed;

    /**
     * @param onBug receives what a task throws; called in the loop
     */
    Loop(Clocks clocks, WakeupTimer wakeupTimer, LoopExecutor executor, Consumer<Throwable> onBug) {
        this.clocks = clocks;
        this.wakeupTimer = wakeupTimer;
        this.executor = executor;
        this.onBug = onBug;
        // Tasks catch what they throw, to report it while the task lock is held. This handler is for the rest.
        this.context = new SynchronizationContext((thread, failure) -> bug(failure));
    }

    /**
     * Runs {@code task} at once if the loop is idle, else after the tasks before it. In the loop: after the present
     * task.
     */
    @Override
    public void execute(Runnable task) {
        executor.execute(() -> context.execute(() -> run(task)));
    }

    /**
     * Runs {@code task} on the calling thread, between two tasks of the loop, so that no thread is woken for it. The
     * calling thread may be the user's: the task is brief, and no queued task runs on that thread.
     *
     * @return result of {@code task}; null also if it did not run: another task runs, or the caller is in the loop
     */
    <T> @Nullable T tryRun(Supplier<@Nullable T> task) {
        if (taskLock.isHeldByCurrentThread() || !taskLock.tryLock()) {
            return null;
        }
        try {
            return task.get();
        } catch (RuntimeException | Error e) {
            execute(() -> bug(e));
            return null;
        } finally {
            taskLock.unlock();
        }
    }

    /** Runs {@code task} after all tasks that are queued by now, also those of other threads. */
    void enqueue(Runnable task) {
        executor.enqueue(() -> context.execute(() -> run(task)));
    }

    private void run(Runnable task) {
        taskLock.lock();
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            bug(e);
        } finally {
            taskLock.unlock();
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
