package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.OnlyAuthentic;
import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.proto.v1.Mark;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** P13: no mark moves on a sequencer that the lock server did not sign for this lock (requirement B4). */
@Execution(ExecutionMode.CONCURRENT)
class ForgeryIT {
    private static final String KEY = "account/1";
    private static final String ISSUER = "palisade";
    private static final SequencerKeys ATTACKER = SequencerKeys.generate();

    private static Sequencer highest(String issuer, String lock, Mode mode) {
        return new Sequencer(
                issuer, new LockName(lock), mode, new FencingToken(FencingToken.MAX), new GrantId(1, 2), 1_000);
    }

    private static void assertRefused(Storage storage, Reason reason, @Nullable SignedSequencer sequencer) {
        for (Verb verb : Verb.values()) {
            assertThat(storage.send(verb, KEY, sequencer))
                    .as(verb + ", expected " + reason)
                    .get()
                    .satisfies(rejection -> {
                        assertThat(rejection.reason()).isEqualTo(reason);
                        assertThat(rejection.metadata()).doesNotContainEntry(Rejection.APPLIED, "unknown");
                    });
        }
    }

    private static Path keyset(Path home, SequencerKeys keys) throws IOException {
        Path file = home.resolve("attacker.json");
        Files.writeString(file, keys.toJson());
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    @Test
    void forgedForeignAndMisdirectedSequencersAreRefusedAndMoveNoMark() throws Exception {
        try (Storage storage = new Storage()) {
            SequencerKeys real =
                    SequencerKeys.ofJson(Files.readString(storage.home().resolve("keys/sequencers.json")));
            Lease lease = storage.acquire(KEY, Mode.EXCLUSIVE);
            Lease other = storage.acquire("account/2", Mode.EXCLUSIVE);
            Mark before = storage.mark(KEY, lease.sequencer());

            assertRefused(storage, Reason.SEQUENCER_MISSING, null);
            assertRefused(storage, Reason.SEQUENCER_INVALID, ATTACKER.sign(highest(ISSUER, KEY, Mode.EXCLUSIVE)));
            assertRefused(storage, Reason.SEQUENCER_INVALID, ATTACKER.sign(highest(ISSUER, KEY, Mode.SHARED)));
            assertRefused(storage, Reason.SEQUENCER_INVALID, real.sign(highest("another", KEY, Mode.EXCLUSIVE)));
            assertRefused(storage, Reason.WRONG_RESOURCE, real.sign(highest(ISSUER, "account/2", Mode.EXCLUSIVE)));
            assertRefused(storage, Reason.WRONG_RESOURCE, other.sequencer());
            everyFlippedBitIsRefused(storage, lease.sequencer().toBytes());
            everyCutIsRefused(storage, lease.sequencer().toBytes());

            assertThat(storage.mark(KEY, lease.sequencer())).isEqualTo(before);
            assertThat(storage.send(Verb.PUT, KEY, lease.sequencer())).isEmpty();
            Run run = storage.stop(List.of());
            assertThat(OnlyAuthentic.violations(run.grants(), run.applied(), run.marks()))
                    .isEmpty();
            assertThat(run.applied()).hasSize(3);
        }
    }

    private static void everyFlippedBitIsRefused(Storage storage, byte[] genuine) {
        for (int bit = 0; bit < genuine.length * 8; bit++) {
            byte[] flipped = genuine.clone();
            flipped[bit / 8] ^= (byte) (1 << bit % 8);
            Verb verb = bit % 2 == 0 ? Verb.CLAIM : Verb.PUT;
            assertThat(storage.send(verb, KEY, SignedSequencer.of(flipped)))
                    .as("bit " + bit + " flipped, " + verb)
                    .get()
                    .extracting(Rejection::reason)
                    .isEqualTo(Reason.SEQUENCER_INVALID);
        }
    }

    private static void everyCutIsRefused(Storage storage, byte[] genuine) {
        for (int length = 1; length < genuine.length; length++) {
            byte[] cut = java.util.Arrays.copyOf(genuine, length);
            assertThat(storage.send(Verb.CLAIM, KEY, SignedSequencer.of(cut)))
                    .as("cut to " + length + " bytes")
                    .get()
                    .extracting(Rejection::reason)
                    .isEqualTo(Reason.SEQUENCER_INVALID);
        }
    }

    @Test
    void aStorageThatBelievesTheAttackersKeysIsFoundByItsMovedMark() throws Exception {
        try (Storage storage = new Storage()) {
            Lease lease = storage.acquire(KEY, Mode.EXCLUSIVE);
            assertThat(storage.send(Verb.PUT, KEY, lease.sequencer())).isEmpty();
            Path keyset = keyset(storage.home(), ATTACKER);

            storage.restart(() -> {}, "--keyset", keyset.toString());
            SignedSequencer forged = ATTACKER.sign(highest(ISSUER, KEY, Mode.EXCLUSIVE));
            assertThat(storage.send(Verb.CLAIM, KEY, forged)).isEmpty();

            Run run = storage.stop(List.of());
            assertThat(OnlyAuthentic.violations(run.grants(), run.applied(), run.marks()))
                    .anySatisfy(violation ->
                            assertThat(violation).startsWith("P13: 'end'").contains(Long.toString(FencingToken.MAX)))
                    .anySatisfy(violation -> assertThat(violation).startsWith("P13: row"));
        }
    }
}
