package dev.palisade.client;

/** What came of {@link Lease#release()}. */
public enum ReleaseOutcome {
    /** The server confirmed it: the lock is free, or already the next waiter's. */
    RELEASED,
    /** This handle is closed, and others of the same lease are open: the server was told nothing. */
    STILL_HELD,
    /**
     * There was nothing left to release; {@link Lease#lostReason()} may say why. Work done late is the guard's to
     * refuse.
     */
    ALREADY_LOST,
    /**
     * No answer within the call timeout. The release is repeated in the background until the lease would have ended.
     */
    UNKNOWN
}
