package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;

/** The other end of a session's stream. Called from several threads; an implementation orders its own output and never blocks. */
public interface Peer {
    /**
     * The lock is promised to one of the peer's requests.
     *
     * @param grant what accepting makes it
     * @param turns of which it shall have so many
     * @param seenSentNanos the send time of the newest client frame that had arrived before the offer was made; 0 for none
     */
    void offered(LockName lock, Grant grant, int turns, long offerMillis, long seenSentNanos);

    /**
     * A lease of the peer ended without its asking.
     *
     * @param detail who ended it and why, when a person did; else empty
     */
    void lost(LockName lock, GrantId grant, End end, String detail);

    /** Requests that the peer give a lease up. Of requests that were not sent yet, only the last for each lease need be kept. */
    void releaseRequested(LockName lock, GrantId grant, String by, String why);

    /** One of the peer's requests stopped waiting without the lock. */
    void waitEnded(LockName lock, long requestNumber, End end);

    /** Sends what was gathered. */
    void flush();

    /** A newer stream of the same session took over; nothing more is said on this one. */
    void superseded();

    /** This server is no longer active; nothing more is said on this stream. */
    void deposed(Rejection why);
}
