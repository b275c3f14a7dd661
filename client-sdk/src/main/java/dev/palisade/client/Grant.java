package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.SignedSequencer;
import java.util.List;

/**
 * What the server granted, checked.
 *
 * @param lock the lock that was asked for
 * @param mode the mode that was asked for
 * @param token orders grants
 * @param id the grant
 * @param ttlMillis above 0
 * @param sequencer to send along
 * @param turns the same for each turn after the first
 */
record Grant(
        LockName lock,
        Mode mode,
        FencingToken token,
        GrantId id,
        long ttlMillis,
        SignedSequencer sequencer,
        List<SignedSequencer> turns) {
    /** What the holder of a later turn has: 1 is the second. */
    Grant turn(int turn) {
        return new Grant(lock, mode, token.turn(turn), id.turn(turn), ttlMillis, turns.get(turn - 1), List.of());
    }

    /** How it was asked for: what a server must be told again whose store has forgotten the grant. */
    record Asked(long requestId, long lockDelayMillis, long lockAtLeastForMillis, String purpose) {}
}
