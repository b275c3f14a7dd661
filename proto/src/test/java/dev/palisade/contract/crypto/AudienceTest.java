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
import dev.palisade.contract.crypto.SequencerKeys.Algorithm;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A guard of one group believes sequencers that are for its group, and no others, whatever is done to them. */
class AudienceTest {
    private static final Sequencer PLAIN = new Sequencer(
            "palisade", new LockName("orders/42"), Mode.EXCLUSIVE, new FencingToken(34), new GrantId(1, 2), 1_000);
    private static final Sequencer PAYMENTS = PLAIN.forAudience("payments");
    private static final Sequencer REPORTS = PLAIN.forAudience("reports");

    private final SequencerKeys keys = SequencerKeys.generate();
    private final SequencerVerifier guard = keys.verifier("palisade", "payments");

    @ParameterizedTest
    @EnumSource
    void sequencerOfTheGroupIsVerified(Algorithm algorithm) {
        SequencerKeys signing = SequencerKeys.generate(algorithm);
        assertThat(signing.verifier("palisade", "payments").verify(signing.sign(PAYMENTS)))
                .isEqualTo(PAYMENTS);
    }

    @Test
    void otherGroupsKeySignsNothingForThisOne() {
        SequencerKeys reports = SequencerKeys.generate();
        assertRefused(
                () -> guard.verify(reports.sign(REPORTS)),
                "no key of the keyset made its signature; it says that it is for audience 'reports', this guard"
                        + " accepts those for audience 'payments'");
        assertRefused(() -> guard.verify(reports.sign(PAYMENTS)), "no key of the keyset made its signature");
        assertRefused(() -> guard.verify(reports.sign(PLAIN)), "without audience");
    }

    /** As with one Ed25519 keyset for all groups, or when one HMAC keyset serves two by mistake. */
    @ParameterizedTest
    @EnumSource
    void genuineSequencerOfAnotherAudienceIsRefused(Algorithm algorithm) {
        SequencerKeys signing = SequencerKeys.generate(algorithm);
        SequencerVerifier payments = signing.verifier("palisade", "payments");
        for (int time = 1; time <= 2; time++) { // The second time it is remembered.
            assertRefused(
                    () -> payments.verify(signing.sign(REPORTS)),
                    "it is for audience 'reports', this guard accepts those for audience 'payments'");
            assertRefused(
                    () -> payments.verify(signing.sign(PLAIN)),
                    "it is without audience, this guard accepts those for audience 'payments'");
            assertRefused(
                    () -> signing.verifier("palisade").verify(signing.sign(PAYMENTS)),
                    "it is for audience 'payments', this guard accepts those without audience");
        }
    }

    /** Version 1 of the same grant, with the signature of version 2: what is signed says which version it is. */
    @Test
    void strippedAudienceIsRefused() {
        byte[] signed = keys.sign(PAYMENTS).toBytes();
        byte[] tag = Arrays.copyOfRange(signed, signed.length - SignatureScheme.HMAC.tagBytes(), signed.length);
        byte[] plain = PLAIN.toBytes();
        SignedSequencer stripped = SignedSequencer.of(ByteBuffer.allocate(plain.length + tag.length)
                .put(plain)
                .put(tag)
                .array());
        assertRefused(() -> guard.verify(stripped), "no key of the keyset made its signature");
        assertRefused(() -> keys.verifier("palisade").verify(stripped), "no key of the keyset made its signature");

        byte[] renumbered = signed.clone();
        renumbered[0] = 1;
        assertRefused(() -> guard.verify(SignedSequencer.of(renumbered)), "no key of the keyset made its signature");
    }

    @ParameterizedTest
    @EnumSource
    void everySingleBitCounts(Algorithm algorithm) {
        SequencerKeys signing = SequencerKeys.generate(algorithm);
        SequencerVerifier payments = signing.verifier("palisade", "payments");
        byte[] signed = signing.sign(PAYMENTS).toBytes();
        payments.verify(SignedSequencer.of(signed));
        for (int bit = 0; bit < signed.length * 8; bit++) {
            byte[] bent = signed.clone();
            bent[bit / 8] ^= (byte) (1 << (bit % 8));
            assertRefused(() -> payments.verify(SignedSequencer.of(bent)), "sequencer refused");
        }
    }

    @Test
    void eitherOfTwoVerifiersMayAccept() {
        SequencerKeys before = SequencerKeys.generate();
        SequencerVerifier both = guard.or(before.verifier("palisade"));
        assertThat(both.verify(keys.sign(PAYMENTS))).isEqualTo(PAYMENTS);
        assertThat(both.verify(before.sign(PLAIN))).isEqualTo(PLAIN);
        assertRefused(() -> both.verify(keys.sign(PLAIN)), "it is without audience");
        assertRefused(() -> both.verify(before.sign(PAYMENTS)), "no key of the keyset made its signature");
        assertRefused(() -> both.verify(keys.sign(REPORTS)), "it is for audience 'reports'");
    }

    @Test
    void nameThatNoGroupCanHaveIsRefused() {
        for (String name : new String[] {"", "a b", "x".repeat(65), "a\n", "ä"}) {
            assertThatThrownBy(() -> keys.verifier("palisade", name))
                    .isInstanceOf(RejectedException.class)
                    .hasMessageContaining("use 1 to 64 letters, digits and . _ -");
        }
    }

    private static void assertRefused(ThrowingCallable call, String why) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.SEQUENCER_INVALID))
                .hasMessageContaining(why);
    }
}
