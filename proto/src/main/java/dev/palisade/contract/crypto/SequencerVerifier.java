package dev.palisade.contract.crypto;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;

/** Tells a genuine sequencer from any other bytes. Implementations are safe to share between threads. */
@FunctionalInterface
public interface SequencerVerifier {
    /**
     * @return the sequencer whose signature was verified, and whose issuer and audience are the expected ones
     * @throws RejectedException SEQUENCER_INVALID for anything else
     */
    Sequencer verify(SignedSequencer signed);

    /**
     * A verifier that accepts what this one or {@code other} accepts, such as the sequencers of two guard groups, or those from
     * before a group was made. It is as strong as the weaker of both. Its rejection is this verifier's.
     */
    default SequencerVerifier or(SequencerVerifier other) {
        return signed -> {
            try {
                return verify(signed);
            } catch (RejectedException e) {
                try {
                    return other.verify(signed);
                } catch (RejectedException second) {
                    e.addSuppressed(second);
                    throw e;
                }
            }
        };
    }
}
