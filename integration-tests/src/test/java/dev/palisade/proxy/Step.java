package dev.palisade.proxy;

/** Steps of a call at the proxy, in order, at which a {@link Breakpoint} can stop it. */
public enum Step {
    /** The call has arrived; the guard has not been called. */
    ARRIVED,
    /** The guard has raised its mark in memory and saves it; nothing of it is written. */
    MARK_ASKED,
    /** The mark is durable; the guard does not know it yet, so no call is admitted by it. */
    MARK_KEPT,
    /** The guard has admitted the call; the storage has not been called. */
    LET_IN,
    /** The storage has replied; the guard does not know yet that the call is over. */
    ANSWERED
}
