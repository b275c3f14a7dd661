package dev.palisade.guard.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerVerifier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Signs whatever grants of one lock a test wants, in place of the lock server. */
final class Granted {
    static final String ISSUER = "palisade";

    private final SequencerKeys keys = SequencerKeys.generate();
    private final String lock;

    Granted(String lock) {
        this.lock = lock;
    }

    SequencerVerifier verifier() {
        return keys.verifier(ISSUER);
    }

    SignedSequencer exclusive(long token) {
        return sign(Mode.EXCLUSIVE, token, token);
    }

    SignedSequencer shared(long token) {
        return sign(Mode.SHARED, token, token);
    }

    SignedSequencer sign(Mode mode, long token, long grant) {
        return keys.sign(sequencer(ISSUER, lock, mode, token, grant));
    }

    SignedSequencer sign(Sequencer sequencer) {
        return keys.sign(sequencer);
    }

    static Sequencer sequencer(String issuer, String lock, Mode mode, long token, long grant) {
        return new Sequencer(issuer, new LockName(lock), mode, new FencingToken(token), new GrantId(7, grant), 0);
    }

    static Rejection refused(ThrowingCallable call, Reason reason) {
        Rejection[] found = new Rejection[1];
        assertThatThrownBy(call).isInstanceOfSatisfying(RejectedException.class, e -> {
            assertThat(e.reason()).as(e.getMessage()).isEqualTo(reason);
            assertThat(e.getMessage()).doesNotContain("\n");
            found[0] = e.rejection();
        });
        return found[0];
    }
}
