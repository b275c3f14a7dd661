package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
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
    private final GuardCounters counters = new GuardCounters();
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

    GuardCounters counters() {
        return counters;
    }

    /** Counts and logs that the outcome of a running call became unknown. */
    void quarantineBegan(String resource, Sequencer sequencer) {
        counters.quarantinesBegun.increment();
        tellOf("quarantine_began", resource, sequencer, "ends_in_ms", quarantineNanos / 1_000_000);
    }

    /** @param end {@code known} when the call has ended after all, {@code assumed} when its time is over */
    void quarantineOver(String resource, Sequencer sequencer, String end) {
        counters.quarantinesOver.increment();
        tellOf("quarantine_over", resource, sequencer, "end", end);
    }

    private void tellOf(String event, String resource, Sequencer sequencer, String key, Object value) {
        events.tell(event, "lock", sequencer.lock(), "resource", resource, "token", sequencer.token(), key, value);
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
