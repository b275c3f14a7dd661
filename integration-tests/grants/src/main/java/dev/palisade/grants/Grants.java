package dev.palisade.grants;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerVerifier;

/** Plays the lock server in tests: signs whatever grant a test wants. */
public final class Grants {
    public static final String ISSUER = "palisade";

    private final SequencerKeys keys = SequencerKeys.generate();

    public SequencerVerifier verifier() {
        return keys.verifier(ISSUER);
    }

    public SequencerKeys keys() {
        return keys;
    }

    public SignedSequencer exclusive(String lock, long token) {
        return sign(lock, Mode.EXCLUSIVE, token, token);
    }

    public SignedSequencer shared(String lock, long token) {
        return sign(lock, Mode.SHARED, token, token);
    }

    public SignedSequencer sign(String lock, Mode mode, long token, long grant) {
        return keys.sign(sequencer(ISSUER, lock, mode, token, grant));
    }

    public static Sequencer sequencer(String issuer, String lock, Mode mode, long token, long grant) {
        return new Sequencer(issuer, new LockName(lock), mode, new FencingToken(token), new GrantId(7, grant), 0);
    }
}
