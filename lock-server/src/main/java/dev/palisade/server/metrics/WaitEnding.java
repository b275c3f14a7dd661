package dev.palisade.server.metrics;

import dev.palisade.server.core.End;

/** How a wait in a queue ended, as a label. */
enum WaitEnding {
    /** With the lock: it was offered to the waiter. */
    OFFERED,
    /** The client gave the wait up, or was given up for dead. */
    LEFT,
    TIMED_OUT,
    /** The waiter let offers lapse, or was no longer heard of. */
    DROPPED;

    static WaitEnding of(End end) {
        return switch (end) {
            case TIMED_OUT -> TIMED_OUT;
            case DROPPED -> DROPPED;
            case RELEASED, EXPIRED, ABANDONED, FORCE_RELEASED, LEFT, BUSY -> LEFT;
        };
    }
}
