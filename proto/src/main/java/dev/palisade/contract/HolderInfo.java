package dev.palisade.contract;

import java.io.Serializable;
import java.time.Duration;

/**
 * Who holds a lock, as the server saw it when it answered.
 *
 * @param owner what the holder calls itself; may be empty
 * @param purpose why it took the lock; may be empty
 * @param token the grant's fencing token
 * @param mode how it holds the lock
 * @param held for how long so far
 * @param remaining when the lease ends unless it is renewed
 * @param session which session, as in the list of sessions; empty from an older server
 * @param principal whom the lock server authenticated; empty without authentication, of a lock that was busy, and where another server
 *     authenticated the holder
 */
public record HolderInfo(
        String owner,
        String purpose,
        FencingToken token,
        Mode mode,
        Duration held,
        Duration remaining,
        String session,
        String principal)
        implements Serializable {}
