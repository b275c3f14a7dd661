package dev.palisade.server.store.log;

import dev.palisade.server.core.LockState;

/** One lock in memory and where it stands in the journal. Touched by one thread at a time, whose turn it is. */
final class Slot {
    LockState state;
    /** Its record; 0 before the first durable event. */
    long recordId;
    /** Updates written to the record since it was added. */
    int updates;
    /** The earliest deadline that is queued for it; {@link Long#MAX_VALUE} for none. */
    long queuedDeadlineMillis = Long.MAX_VALUE;

    Slot(LockState state) {
        this.state = state;
    }

    /** The lock has no holder, no offer and no waiter. A lock-delay may still run; it ends before the slot is forgettable. */
    boolean isIdle() {
        return state.holders().isEmpty()
                && state.offers().isEmpty()
                && state.waiters().isEmpty();
    }

    /** A record this long is worth writing anew: what is in it, twice over, and never for a few updates. */
    boolean isLong() {
        int inside = state.holders().size()
                + state.offers().size()
                + state.waiters().size()
                + state.tombstones().size();
        return updates >= Math.max(64, 2 * inside);
    }
}
