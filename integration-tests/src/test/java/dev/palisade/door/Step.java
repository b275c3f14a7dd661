package dev.palisade.door;

/** The steps of a call at the door, in order: where the door can be made to stop. */
public enum Step {
    /** The call is here; the guard has not been asked. */
    ARRIVED,
    /** The guard has raised its mark in memory and asks for it to be kept; nothing of it is written. */
    MARK_ASKED,
    /** The mark is durable; the guard has not been told, so nobody is let in by it. */
    MARK_KEPT,
    /** The guard has let the call in; the storage has not been asked. */
    LET_IN,
    /** The storage has answered; the guard has not been told that the call is over. */
    ANSWERED
}
