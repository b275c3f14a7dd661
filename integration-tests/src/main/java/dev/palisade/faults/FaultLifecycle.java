package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.faults.Schedule.Planned;
import dev.palisade.scenario.History;

/**
 * The lifecycle of an injected fault: record its start, inject it, wait, repair it, record its end. Safe for many
 * threads.
 */
final class FaultLifecycle {
    private final History history;
    private final StopLatch healing;

    /** @param healing once stopped, every fault ends immediately */
    FaultLifecycle(History history, StopLatch healing) {
        this.history = history;
        this.healing = healing;
    }

    void instant(Planned fault, String who, String how, Runnable inject) {
        record("fault-began", fault, who, how);
        inject.run();
        record("fault-ended", fault, who, how);
    }

    void lasting(Planned fault, String who, String how, Runnable inject, Runnable repair) {
        record("fault-began", fault, who, how);
        inject.run();
        await(fault);
        repair.run();
        record("fault-ended", fault, who, how);
    }

    /** Blocks for the duration of the fault, or until all faults end. */
    void await(Planned fault) {
        healing.await(fault.forMillis());
    }

    /** Records that the store may have lost data between {@code fromNanos} and now. */
    void recordDataLoss(Planned fault, long fromNanos) {
        JsonObject event = event("data-lost", fault, "redis", "");
        event.addProperty("from", fromNanos);
        history.write(event);
    }

    void record(String name, Planned fault, String who, String how) {
        history.write(event(name, fault, who, how));
    }

    void record(JsonObject event) {
        history.write(event);
    }

    JsonObject event(String name, Planned fault, String who, String how) {
        JsonObject event = history.event(name);
        event.addProperty("fault", fault.kind().name());
        event.addProperty("number", fault.number());
        event.addProperty("who", who);
        event.addProperty("how", how);
        return event;
    }
}
