package dev.palisade.server.core.explain;

/** State of a fencing token, as far as a lock server knows it. */
public enum TokenState {
    /** Its lease stands. */
    HELD,
    /** It is promised to a waiter. */
    OFFERED,
    RELEASED,
    EXPIRED,
    ABANDONED,
    FORCE_RELEASED,
    /** It was offered to a waiter, which did not take it. */
    NOT_TAKEN,
    /** It is older than the present epoch of the lock's tokens, and its end is not remembered. */
    BEFORE_EPOCH,
    /** It is older than the newest known token of the lock, and its end is not remembered. */
    FORGOTTEN,
    /** It is larger than every known token of the lock. */
    NOT_GRANTED,
    /** No grant of the lock is known. */
    UNKNOWN;

    /** Whether the lock was, or may have been, another's since. */
    boolean isOver() {
        return this != HELD && this != OFFERED && this != NOT_GRANTED && this != UNKNOWN;
    }
}
