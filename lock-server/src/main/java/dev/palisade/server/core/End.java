package dev.palisade.server.core;

/** How a request ended. Stores keep these names. */
public enum End {
    RELEASED,
    EXPIRED,
    ABANDONED,
    /** Ended by an operator. */
    FORCE_RELEASED,
    /** Left the queue. */
    LEFT,
    /** Its wait ran out. */
    TIMED_OUT,
    /** Let two offers lapse, or was given up for dead while waiting. */
    DROPPED,
    /** Tried once and did not get the lock. */
    BUSY;

    /** Whether its lock-delay follows: the holder did not say that it has stopped. */
    boolean closesTheLock() {
        return this == EXPIRED || this == ABANDONED || this == FORCE_RELEASED;
    }
}
