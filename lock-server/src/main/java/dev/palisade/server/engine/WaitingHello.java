package dev.palisade.server.engine;

/** A client that waits until this server has taken over, and has time for its leases. */
public interface WaitingHello {
    /** Sends a sign of life. Returns whether the stream is open. */
    boolean sendSign();

    /**
     * Called once: it is the client's turn after the takeover, or that took too long, or the stream has ended.
     *
     * @param resumed to be called when the client's leases are resumed, or the stream has ended; thread-safe
     */
    void proceed(Runnable resumed);
}
