package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.SignedSequencer;
import java.util.List;

/**
 * A grant of the server, validated.
 *
 * @param lock as requested
 * @param mode as requested
 * @param token orders grants
 * @param id the grant
 * @param ttlMillis above 0
 * @param sequencer sent with guarded calls
 * @param handoffSequencers one for each local hand-off
 */
record Grant(
        LockName lock,
        Mode mode,
        FencingToken token,
        GrantId id,
        long ttlMillis,
        SignedSequencer sequencer,
        List<SignedSequencer> handoffSequencers) {
    /** The grant of the holder after local hand-off number {@code handoff}, from 1. */
    Grant afterHandoff(int handoff) {
        return new Grant(
                lock,
                mode,
                token.turn(handoff),
                id.turn(handoff),
                ttlMillis,
                handoffSequencers.get(handoff - 1),
                List.of());
    }

    /** The parameters of the acquire. A server needs them again if its store has lost the grant. */
    record RequestParams(long requestId, long lockDelayMillis, long lockAtLeastForMillis, String purpose) {}
}
