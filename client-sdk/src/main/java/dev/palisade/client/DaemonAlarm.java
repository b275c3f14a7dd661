package dev.palisade.client;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The real {@link Alarm}: one daemon thread for all deadlines and keep-alives of a client, however many leases it has. */
final class DaemonAlarm implements Alarm {
    private final ScheduledThreadPoolExecutor thread;
    /** No monitor: a virtual thread that waits for the executor's own lock inside one would keep its carrier. */
    private final ReentrantLock lock = new ReentrantLock();

    @Nullable
    private Future<?> armed;

    DaemonAlarm() {
        thread = new ScheduledThreadPoolExecutor(1, task -> Callbacks.daemon("palisade-time", task));
        thread.setRemoveOnCancelPolicy(true);
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public void wakeIn(long delayNanos, Runnable wake) {
        lock.lock();
        try {
            if (armed != null) {
                armed.cancel(false);
            }
            if (!thread.isShutdown()) {
                armed = thread.schedule(wake, delayNanos, TimeUnit.NANOSECONDS);
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void stop() {
        lock.lock();
        try {
            thread.shutdown();
        } finally {
            lock.unlock();
        }
    }
}
