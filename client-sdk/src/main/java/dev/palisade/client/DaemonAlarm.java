package dev.palisade.client;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The real {@link Alarm}: one daemon thread for all deadlines and keep-alives of a client, however many leases it has. */
final class DaemonAlarm implements Alarm {
    private final ScheduledThreadPoolExecutor thread;

    @Nullable
    private Future<?> armed;

    DaemonAlarm() {
        thread = new ScheduledThreadPoolExecutor(1, task -> Callbacks.daemon("palisade-time", task));
        thread.setRemoveOnCancelPolicy(true);
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public synchronized void wakeIn(long delayNanos, Runnable wake) {
        if (armed != null) {
            armed.cancel(false);
        }
        if (!thread.isShutdown()) {
            armed = thread.schedule(wake, delayNanos, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public synchronized void stop() {
        thread.shutdown();
    }
}
