package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.faults.Schedule.Planned;
import dev.palisade.scenario.History;

/** The course of a fault: written down that it begins, done, waited for, undone, written down that it has ended. Safe for many threads. */
final class Course {
    private final History history;
    private final Stopping healing;

    /** @param healing ends every fault at once */
    Course(History history, Stopping healing) {
        this.history = history;
        this.healing = healing;
    }

    void instant(Planned fault, String who, String how, Runnable what) {
        write("fault-began", fault, who, how);
        what.run();
        write("fault-ended", fault, who, how);
    }

    void lasting(Planned fault, String who, String how, Runnable harm, Runnable heal) {
        write("fault-began", fault, who, how);
        harm.run();
        await(fault);
        heal.run();
        write("fault-ended", fault, who, how);
    }

    /** Returns when the fault has lasted, or everything is to heal. */
    void await(Planned fault) {
        healing.within(fault.forMillis());
    }

    /** Writes down that the store may have lost data between {@code fromNanos} and now. */
    void lost(Planned fault, long fromNanos) {
        JsonObject event = event("data-lost", fault, "redis", "");
        event.addProperty("from", fromNanos);
        history.write(event);
    }

    void write(String name, Planned fault, String who, String how) {
        history.write(event(name, fault, who, how));
    }

    void write(JsonObject event) {
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
