package dev.palisade.contract.crypto;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What keys remember of the sequencers they have verified, and what they must not. */
class VerifiedTest {
    private final SequencerKeys keys = SequencerKeys.generate();
    private final SequencerVerifier verifier = keys.verifier("palisade");

    @Test
    void theSameBytesAreVerifiedOnce() {
        byte[] signed = keys.sign(sequencer(34)).toBytes();
        assertThat(verifier.verify(SignedSequencer.of(signed)))
                .isSameAs(verifier.verify(SignedSequencer.of(signed)))
                .isEqualTo(sequencer(34));
    }

    @Test
    void everySingleBitCountsAlsoBesideASequencerThatWasVerified() {
        byte[] signed = keys.sign(sequencer(34)).toBytes();
        verifier.verify(SignedSequencer.of(signed));
        for (int bit = 0; bit < signed.length * 8; bit++) {
            byte[] bent = signed.clone();
            bent[bit / 8] ^= (byte) (1 << (bit % 8));
            for (int time = 1; time <= 2; time++) {
                assertThatThrownBy(() -> verifier.verify(SignedSequencer.of(bent)))
                        .isInstanceOf(RejectedException.class);
            }
        }
        for (int length = 1; length < signed.length; length++) {
            byte[] cut = Arrays.copyOf(signed, length);
            assertThatThrownBy(() -> verifier.verify(SignedSequencer.of(cut)))
                    .as("the first %d bytes", length)
                    .isInstanceOf(RejectedException.class);
        }
    }

    @Test
    void whatARetiredKeyHasSignedIsRefusedAlthoughItWasVerifiedBefore() {
        SequencerKeys both = keys.withNewKey();
        SequencerKeys promoted = both.promote(both.keys().get(1).id());
        SignedSequencer old = keys.sign(sequencer(34));
        promoted.verifier("palisade").verify(old);
        SequencerKeys retired = promoted.retire(keys.keys().get(0).id());
        assertThatThrownBy(() -> retired.verifier("palisade").verify(old)).isInstanceOf(RejectedException.class);
    }

    @Test
    void whatOneIssuersGuardHasVerifiedAnotherIssuersGuardRefuses() {
        SignedSequencer signed = keys.sign(sequencer(34));
        verifier.verify(signed);
        SequencerVerifier staging = keys.verifier("staging");
        assertThatThrownBy(() -> staging.verify(signed)).hasMessageContaining("staging");
        assertThatThrownBy(() -> staging.verify(signed)).hasMessageContaining("staging");
        assertThat(verifier.verify(signed)).isEqualTo(sequencer(34));
    }

    @Test
    void noMoreAreRememberedThanThereIsRoomFor() {
        Verified verified = new Verified();
        List<byte[]> all = new ArrayList<>();
        for (int token = 1; token <= 4 * Verified.SLOTS; token++) {
            byte[] bytes = sequencer(token).toBytes();
            all.add(bytes);
            verified.add(bytes, bytes.length, new byte[] {1}, sequencer(token));
        }
        long remembered = all.stream()
                .filter(bytes -> verified.find(bytes, bytes.length, new byte[] {1}) != null)
                .count();
        assertThat(remembered).isBetween(Verified.SLOTS * 9L / 10, (long) Verified.SLOTS);
    }

    @Test
    void manyThreadsAreToldWhatTheyAskedFor() throws Exception {
        int sequencers = 2 * Verified.SLOTS;
        List<SignedSequencer> signed = new ArrayList<>();
        for (int token = 1; token <= sequencers; token++) {
            signed.add(keys.sign(sequencer(token)));
        }
        Callable<Set<Long>> wrong = () -> {
            Set<Long> found = new TreeSet<>();
            for (int i = 0; i < 4 * sequencers; i++) {
                int token = i * 7 % sequencers + 1;
                if (!verifier.verify(signed.get(token - 1)).equals(sequencer(token))) {
                    found.add((long) token);
                }
            }
            return found;
        };
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            for (Future<Set<Long>> each : threads.invokeAll(List.of(wrong, wrong, wrong, wrong))) {
                assertThat(each.get()).isEmpty();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static Sequencer sequencer(long token) {
        return new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(1, token),
                1_000);
    }
}
