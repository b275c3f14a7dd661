package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;

/** Shared dependencies of a guard's parts: store, clock, executor, events and counters. */
final class GuardContext {
    private static final System.Logger LOG = System.getLogger(Guard.class.getName());

    private final MarkStore store;
    private final Time time;
    private final Executor executor;
    private final EventLog events;
    private final long quarantineNanos;
    private final ServingState serving = new ServingState();
    private final GuardCounters counters = new GuardCounters();
    private Runnable onStoreFailure = () -> {};

    GuardContext(MarkStore store, Time time, Executor executor, EventLog events, long quarantineNanos) {
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

    /** Runs the continuations of waiting calls. */
    Executor executor() {
        return executor;
    }

    /** Events for operators. */
    EventLog events() {
        return events;
    }

    /** How long a call with an unknown outcome counts as running. */
    long quarantineNanos() {
        return quarantineNanos;
    }

    /** Reports a condition that an operator has to act on: an event and a line of level WARNING, never left out. */
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

    /** @param what runs whenever a mark could not be stored; set once, before any call */
    void onStoreFailure(Runnable what) {
        onStoreFailure = what;
    }

    void storeFailed() {
        onStoreFailure.run();
    }
}
