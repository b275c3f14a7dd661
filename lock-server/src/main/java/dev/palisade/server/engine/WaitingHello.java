package dev.palisade.server.engine;

/** A client that waits until this server has taken over. */
public interface WaitingHello {
    /** It waits still: a good moment for a sign of life. Returns whether its stream is open. */
    boolean waits();

    /** Once: the takeover is over, or took too long, or the stream has ended. */
    void goesOn();
}
