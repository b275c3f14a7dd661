package dev.palisade.guard;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Clocks of this machine, and one thread that runs the timers. */
final class SystemTime implements Time {
    private final ScheduledThreadPoolExecutor timers;

    SystemTime() {
        timers = new ScheduledThreadPoolExecutor(1, run -> {
            Thread thread = new Thread(run, "palisade-guard-time");
            thread.setDaemon(true);
            return thread;
        });
        timers.setRemoveOnCancelPolicy(true);
        timers.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
    }

    @Override
    public long nanos() {
        return System.nanoTime();
    }

    @Override
    public long millis() {
        return System.currentTimeMillis();
    }

    @Override
    public Runnable at(long atNanos, Runnable what) {
        ScheduledFuture<?> timer = timers.schedule(what, atNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        return () -> timer.cancel(false);
    }

    @Override
    public void stop() {
        timers.shutdown();
    }
}
