package dev.palisade.server.engine;

import dev.palisade.contract.EventLog;
import java.util.function.LongSupplier;

/**
 * Makes two lines of a time in which the store cannot do what it is asked, however many calls it refuses meanwhile: one when it
 * begins, one when it is over. It is over when for a second the store has answered and refused nothing. Safe for use by many
 * threads.
 */
final class Outage {
    static final long LOOK_MILLIS = 1_000;

    private final LongSupplier nowMillis;
    private final Timer timer;
    private final EventLog events;

    /** Volatile, so that whoever is answered at other times takes no lock. */
    private volatile boolean open;

    private boolean answeredLately;
    private boolean refusedLately;
    private long refusals;
    private long sinceMillis;

    Outage(LongSupplier nowMillis, Timer timer, EventLog events) {
        this.nowMillis = nowMillis;
        this.timer = timer;
        this.events = events;
    }

    /** The store did not do what it was asked. */
    synchronized void refused(String why) {
        refusals++;
        refusedLately = true;
        if (!open) {
            open = true;
            answeredLately = false;
            sinceMillis = nowMillis.getAsLong();
            events.tell("store_unavailable", "message", why);
            timer.after(LOOK_MILLIS, this::look);
        }
    }

    /** The store did what it was asked. */
    void answered() {
        if (open) {
            synchronized (this) {
                answeredLately = true;
            }
        }
    }

    private synchronized void look() {
        if (!answeredLately || refusedLately) {
            answeredLately = false;
            refusedLately = false;
            timer.after(LOOK_MILLIS, this::look);
            return;
        }
        open = false;
        events.tell("store_available", "refused", refusals, "after_ms", nowMillis.getAsLong() - sinceMillis);
        refusals = 0;
        refusedLately = false;
    }
}
