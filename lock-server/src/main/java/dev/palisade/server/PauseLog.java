package dev.palisade.server;

import dev.palisade.contract.EventLog;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * A log of pauses of this process: it was stopped or swapped out, had no processor, or a garbage collection took long. Leases
 * end meanwhile, and so does a claim of the log. To be run every {@link #LOOK_MILLIS}, by one thread.
 */
final class PauseLog implements Runnable {
    static final long LOOK_MILLIS = 200;
    /** Shorter ones are usual on a busy machine, and end no claim. */
    private static final long MIN_MILLIS = 1_000;

    private final LongSupplier nanos;
    private final EventLog events;
    private long lastNanos;

    PauseLog(LongSupplier nanos, EventLog events) {
        this.nanos = nanos;
        this.events = events;
        this.lastNanos = nanos.getAsLong();
    }

    @Override
    public void run() {
        long now = nanos.getAsLong();
        long pausedMillis = TimeUnit.NANOSECONDS.toMillis(now - lastNanos) - LOOK_MILLIS;
        lastNanos = now;
        if (pausedMillis >= MIN_MILLIS) {
            events.warn(
                    "process_paused",
                    "ms",
                    pausedMillis,
                    "message",
                    "this process did not run: it was stopped or swapped out, had no processor, or a garbage collection took"
                            + " long; leases and claims may have ended meanwhile");
        }
    }
}
