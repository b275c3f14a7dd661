package dev.palisade.guard;

/** Check of a call before it is admitted. */
public enum Check {
    /** By the marks, which are enough. */
    LOCAL,
    /**
     * By the lock service first, then by the marks: refuses a call whose lease has ended, even without a newer
     * grant. Costs a round trip for each call, and refuses all calls while the lock service is unreachable.
     */
    ONLINE
}
