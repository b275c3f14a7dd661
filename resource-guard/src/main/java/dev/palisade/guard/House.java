package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Rejection;
import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;

/** What all doorways of a guard share. */
final class House {
    private static final System.Logger LOG = System.getLogger(Guard.class.getName());

    private final MarkStore store;
    private final Time time;
    private final Executor executor;
    private final EventLog events;
    private final long quarantineNanos;
    private final ServingState serving = new ServingState();
    private Runnable onStoreFailure = () -> {};

    House(MarkStore store, Time time, Executor executor, EventLog events, long quarantineNanos) {
        this.store = store;
        this.time = time;
        this.executor = executor;
        this.events = events;
        this.quarantineNanos = quarantineNanos;
    }

    MarkStore store() {
        return store;
    }

    Time time() {
        return time;
    }

    /** Where whoever waited is told. */
    Executor executor() {
        return executor;
    }

    /** What operators are told. */
    EventLog events() {
        return events;
    }

    /** How long a call that was lost sight of counts as running. */
    long quarantineNanos() {
        return quarantineNanos;
    }

    /** Reports what an operator has to act on: an event and a line of level WARNING, never left out. */
    void warn(String event, Rejection why) {
        events.tellAlways(event, "message", why.message());
        LOG.log(Level.WARNING, why.message());
    }

    /** Whether calls are admitted. */
    ServingState serving() {
        return serving;
    }

    /** @param what runs whenever a mark could not be kept; set once, before any call */
    void onStoreFailure(Runnable what) {
        onStoreFailure = what;
    }

    void storeFailed() {
        onStoreFailure.run();
    }
}
