package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys.Algorithm;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GuardKeysTest {
    private static final Sequencer PLAIN = new Sequencer(
            "palisade", new LockName("orders/42"), Mode.EXCLUSIVE, new FencingToken(34), new GrantId(1, 2), 1_000);

    @TempDir
    Path directory;

    @Test
    void oneKeysetWithoutGroupsWorksAsBefore() throws Exception {
        Path path = directory.resolve("keys.json");
        GuardKeys keys = GuardKeys.open(path, "palisade", null, null, true);
        assertThat(keys).hasToString("signing keyset " + path + ", issuer palisade");
        KeysetFile server = KeysetFile.openOrCreate(path);
        assertThat(keys.verifier().verify(server.sign(PLAIN))).isEqualTo(PLAIN);
        assertThatThrownBy(() -> keys.verifier().verify(server.sign(PLAIN.forAudience("payments"))))
                .isInstanceOf(RejectedException.class);
    }

    @Test
    void audiencePublicKeysAndPreviousKeyset() throws Exception {
        KeysetFile group = KeysetFile.openOrCreate(directory.resolve("payments.json"), Algorithm.ED25519);
        KeysetFile before = KeysetFile.openOrCreate(directory.resolve("sequencers.json"));
        Path exported = Files.writeString(
                directory.resolve("payments.public.json"),
                group.keys().publicKeys().toJson());
        SequencerVerifier strict =
                GuardKeys.open(exported, "palisade", "payments", null, false).verifier();
        assertThat(strict.verify(group.sign(PLAIN.forAudience("payments"))).audience())
                .contains("payments");
        assertThatThrownBy(() -> strict.verify(before.sign(PLAIN))).isInstanceOf(RejectedException.class);

        GuardKeys upgrading = GuardKeys.open(exported, "palisade", "payments", before.path(), false);
        assertThat(upgrading.verifier().verify(before.sign(PLAIN))).isEqualTo(PLAIN);
        assertThat(upgrading)
                .hasToString("public keyset " + exported + ", issuer palisade, audience payments, previous keyset "
                        + before.path());
    }
}
