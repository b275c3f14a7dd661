package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.SignedSequencer;

/**
 * What the server granted, checked.
 *
 * @param lock the lock that was asked for
 * @param mode the mode that was asked for
 * @param token orders grants
 * @param id the grant
 * @param ttlMillis above 0
 * @param sequencer to send along
 */
record Grant(LockName lock, Mode mode, FencingToken token, GrantId id, long ttlMillis, SignedSequencer sequencer) {
    /** How it was asked for: what a server must be told again whose store has forgotten the grant. */
    record Asked(long requestId, long lockDelayMillis, String purpose) {}
}
