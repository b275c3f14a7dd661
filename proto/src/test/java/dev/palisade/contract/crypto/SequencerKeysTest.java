package dev.palisade.contract.crypto;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class SequencerKeysTest {
    private static final Sequencer SEQUENCER = new Sequencer(
            "palisade", new LockName("orders/42"), Mode.EXCLUSIVE, new FencingToken(34), new GrantId(1, 2), 1_000);

    private final SequencerKeys keys = SequencerKeys.generate();

    @Test
    void whatWasSignedIsVerified() {
        assertThat(keys.verifier("palisade").verify(keys.sign(SEQUENCER))).isEqualTo(SEQUENCER);
    }

    @Test
    void everySingleBitCounts() {
        byte[] signed = keys.sign(SEQUENCER).toBytes();
        for (int bit = 0; bit < signed.length * 8; bit++) {
            byte[] bent = signed.clone();
            bent[bit / 8] ^= (byte) (1 << (bit % 8));
            assertRefused(() -> keys.verifier("palisade").verify(SignedSequencer.of(bent)));
        }
    }

    @Test
    void aKeysetOfSomebodyElseIsRefused() {
        SequencerKeys foreign = SequencerKeys.generate();
        assertRefused(() -> keys.verifier("palisade").verify(foreign.sign(SEQUENCER)));
    }

    @Test
    void anotherIssuerIsRefused() {
        assertRefused(() -> keys.verifier("staging").verify(keys.sign(SEQUENCER)));
    }

    @Test
    void rotationNeverLeavesAMomentInWhichAGenuineSequencerIsRefused() throws Exception {
        SequencerKeys added = SequencerKeys.ofJson(keys.withNewKey().toJson());
        int newKey = added.keys().get(1).id();
        assertThat(added.verifier("palisade").verify(keys.sign(SEQUENCER))).isEqualTo(SEQUENCER);

        SequencerKeys promoted = added.promote(newKey);
        SignedSequencer byNewKey = promoted.sign(SEQUENCER);
        assertThat(added.verifier("palisade").verify(byNewKey)).isEqualTo(SEQUENCER);
        assertThat(promoted.verifier("palisade").verify(keys.sign(SEQUENCER))).isEqualTo(SEQUENCER);

        SequencerKeys retired = promoted.retire(keys.keys().get(0).id());
        assertThat(retired.verifier("palisade").verify(byNewKey)).isEqualTo(SEQUENCER);
        assertRefused(() -> retired.verifier("palisade").verify(keys.sign(SEQUENCER)));
    }

    @Test
    void theSigningKeyCannotBeRetired() {
        int signing = keys.keys().get(0).id();
        assertThatThrownBy(() -> keys.retire(signing)).hasMessageContaining("promote another one first");
    }

    private static void assertRefused(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID));
    }
}
