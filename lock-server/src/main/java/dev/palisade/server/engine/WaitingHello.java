package dev.palisade.server.engine;

/** A client that waits until this server has taken over. */
public interface WaitingHello {
    /** Sends a sign of life. Returns whether the stream is open. */
    boolean sendSign();

    /** Called once: the takeover is over, or took too long, or the stream has ended. */
    void proceed();
}
