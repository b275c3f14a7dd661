package dev.palisade.server.engine;

import dev.palisade.contract.EventLog;
import dev.palisade.server.core.explain.StoreOutage;
import dev.palisade.server.store.LockStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A logger of outages of the store: one line when an outage begins and one when it ends, however many calls fail meanwhile. An outage
 * ends when the store is up, has replied for a second and refused nothing, or when the server is a standby. Keeps the newest outages for
 * explanations. Safe for use by many threads.
 */
final class OutageLogger {
    static final long LOOK_MILLIS = 1_000;

    private static final int KEPT_MAX = 64;

    private final LockStore store;
    private final Timer timer;
    private final EventLog events;

    /** Volatile, so that calls outside of an outage take no lock. */
    private volatile boolean open;

    private boolean answeredLately;
    private boolean refusedLately;
    private long refusals;
    private long sinceMillis;
    private long lastRefusedMillis;
    private final Deque<StoreOutage> past = new ArrayDeque<>();

    OutageLogger(LockStore store, Timer timer, EventLog events) {
        this.store = store;
        this.timer = timer;
        this.events = events;
    }

    /** The store did not do what it was asked. */
    synchronized void refused(String why) {
        refusals++;
        refusedLately = true;
        lastRefusedMillis = store.nowMillis();
        if (!open) {
            open = true;
            answeredLately = false;
            sinceMillis = lastRefusedMillis;
            events.warn("store_unavailable", "message", why);
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

    /** The newest outages, oldest first; the last may not be over. */
    synchronized List<StoreOutage> newest() {
        List<StoreOutage> all = new ArrayList<>(past);
        if (open) {
            all.add(new StoreOutage(sinceMillis, lastRefusedMillis, refusals, false));
        }
        return all;
    }

    private synchronized void look() {
        boolean standby = store.standby().isPresent(); // It decides nothing, so its store refuses nothing.
        boolean up = store.status().up(); // A full log goes on to describe and to free locks.
        if (!standby && (!answeredLately || refusedLately || !up)) {
            answeredLately = false;
            refusedLately = false;
            timer.after(LOOK_MILLIS, this::look);
            return;
        }
        open = false;
        past.addLast(new StoreOutage(sinceMillis, lastRefusedMillis, refusals, true));
        if (past.size() > KEPT_MAX) {
            past.removeFirst();
        }
        long endedMillis = standby ? lastRefusedMillis : store.nowMillis();
        events.tell("store_available", "refused", refusals, "after_ms", endedMillis - sinceMillis, "standby", standby);
        refusals = 0;
        refusedLately = false;
    }
}
