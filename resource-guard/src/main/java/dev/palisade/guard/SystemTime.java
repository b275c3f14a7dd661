package dev.palisade.guard;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** This machine's clocks, and one thread that sets off the alarms. */
final class SystemTime implements Time {
    private final ScheduledThreadPoolExecutor alarms;

    SystemTime() {
        alarms = new ScheduledThreadPoolExecutor(1, run -> {
            Thread thread = new Thread(run, "palisade-guard-time");
            thread.setDaemon(true);
            return thread;
        });
        alarms.setRemoveOnCancelPolicy(true);
        alarms.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
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
        ScheduledFuture<?> alarm = alarms.schedule(what, atNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        return () -> alarm.cancel(false);
    }

    @Override
    public void stop() {
        alarms.shutdown();
    }
}
