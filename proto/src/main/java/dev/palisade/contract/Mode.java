package dev.palisade.contract;

/** How a lock is held. */
public enum Mode {
    /** One holder, and no other beside it. */
    EXCLUSIVE,
    /** Any number of SHARED holders, no EXCLUSIVE one beside them. May read; a guard refuses its writes. */
    SHARED
}
