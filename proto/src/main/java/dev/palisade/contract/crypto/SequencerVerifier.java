package dev.palisade.contract.crypto;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;

/** Tells a genuine sequencer from any other bytes. Implementations are safe to share between threads. */
@FunctionalInterface
public interface SequencerVerifier {
    /**
     * @return the sequencer whose signature was verified and whose issuer is the expected one
     * @throws RejectedException SEQUENCER_INVALID for anything else
     */
    Sequencer verify(SignedSequencer signed);
}
