package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;

/**
 * What an acquire asked for. It stays with the waiter, the offer and the grant that come of it.
 *
 * @param id the same id again is the same request
 * @param sessionGen the generation of the session's stream that last spoke for it; an older one cannot end it
 * @param grant the id the grant has, or will have
 * @param ttlMillis how long the lease lasts after each renewal
 * @param lockDelayMillis how long the lock stays closed if the lease expires or is abandoned
 * @param lockAtLeastForMillis the minimum hold time: how long after the grant the lock stays closed, however the lease ends
 * @param owner who asked, for people
 * @param purpose why, for people
 */
public record Request(
        RequestId id,
        long sessionGen,
        GrantId grant,
        Mode mode,
        long ttlMillis,
        long lockDelayMillis,
        long lockAtLeastForMillis,
        String owner,
        String purpose) {
    /** The same, spoken for by another stream. */
    public Request withSessionGen(long gen) {
        return new Request(id, gen, grant, mode, ttlMillis, lockDelayMillis, lockAtLeastForMillis, owner, purpose);
    }
}
