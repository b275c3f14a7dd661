package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.mark.MarkStore;
import java.util.concurrent.Executor;

/** What all doorways of a guard share. */
final class House {
    private final MarkStore store;
    private final Time time;
    private final Executor executor;
    private final EventLog events;
    private final long quarantineNanos;
    private volatile boolean closed;

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

    /** From now on no doorway lets anybody in. */
    void close() {
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /** @throws dev.palisade.contract.RejectedException MARK_UNAVAILABLE when the guard was closed */
    void requireOpen() {
        if (closed) {
            throw closedNow().asException();
        }
    }

    static Rejection closedNow() {
        return new Rejection(Reason.MARK_UNAVAILABLE, "the guard is closed; nothing was applied");
    }
}
