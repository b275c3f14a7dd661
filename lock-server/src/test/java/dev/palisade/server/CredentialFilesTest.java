package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.Policy;
import dev.palisade.server.metrics.CredentialFile;
import java.lang.reflect.Constructor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CredentialFilesTest {
    @TempDir
    Path folder;

    private final AtomicLong nanos = new AtomicLong();
    private final List<String> lines = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private final EventLog events = new EventLog(lines::add, warnings::add, () -> 0, 10);

    @Test
    void brokenPolicyIsAWarningUntilItIsGoodAgain() throws Exception {
        Path path = Files.writeString(folder.resolve("policy"), "allow a acquire x\n");
        AccessControl access = new AccessControl(new AccessFile<>(path, false, Policy::parse), null, null, () -> 1);
        CredentialFiles files = new CredentialFiles(null, access, signing(), events);
        Files.writeString(path, "alow a acquire x\n");
        checkTwice(files);
        assertThat(warnings).singleElement().asString().contains("event=access_file_unusable", "'alow'");
        assertThat(files.isUsable(CredentialFile.POLICY)).isFalse();
        assertThat(files.isUsable(CredentialFile.USERS)).isTrue();
        Files.writeString(path, "allow a acquire x\n");
        checkTwice(files);
        assertThat(lines).singleElement().asString().contains("event=access_file_usable", path.toString());
        assertThat(files.isUsable(CredentialFile.POLICY)).isTrue();
    }

    @Test
    void keysetThatTurnsUnusableIsAWarning() throws Exception {
        Path path = folder.resolve("keys.json");
        KeysetFile.openOrCreate(path);
        String good = Files.readString(path);
        KeysetFile keyset = openWithClock(path);
        CredentialFiles files =
                new CredentialFiles(null, null, SequencerSigning.open(keyset, "palisade", null), events);
        Files.writeString(path, "{");
        checkTwice(files);
        assertThat(warnings)
                .singleElement()
                .asString()
                .contains("event=keyset_unusable", "is not a usable keyset", "the last good keys stay in use");
        assertThat(files.isUsable(CredentialFile.KEYSET)).isFalse();
        Files.writeString(path, good);
        checkTwice(files);
        assertThat(lines).singleElement().asString().contains("event=keyset_usable", path.toString());
    }

    @Test
    void newGuardGroupsAreInUseOnceTheirKeysetsAre() throws Exception {
        KeysetFile keyset = KeysetFile.openOrCreate(folder.resolve("sequencers.json"));
        KeysetFile.openOrCreate(folder.resolve("payments.json"));
        String before = "group payments payments.json\nlocks payments payments/*\n";
        Path path = Files.writeString(folder.resolve("groups.conf"), before);
        SequencerSigning signing = SequencerSigning.open(keyset, "palisade", path);
        CredentialFiles files = new CredentialFiles(null, null, signing, events);

        Files.writeString(path, before + "group reports reports.json\nlocks reports reports/*\n");
        checkTwice(files);
        checkTwice(files);
        assertThat(warnings)
                .singleElement()
                .asString()
                .contains(
                        "event=access_file_unusable",
                        "groups.conf:3: signing keyset",
                        "does not exist",
                        "the last good one stays in use");
        assertThat(files.isUsable(CredentialFile.GUARD_GROUPS)).isFalse();
        assertThat(audience(signing, "payments/1")).contains("payments");
        assertThat(audience(signing, "reports/1")).isEmpty();

        KeysetFile.openOrCreate(folder.resolve("reports.json"));
        checkTwice(files);
        assertThat(lines).singleElement().asString().contains("event=access_file_replaced", path.toString());
        assertThat(files.isUsable(CredentialFile.GUARD_GROUPS)).isTrue();
        assertThat(audience(signing, "payments/1")).contains("payments");
        assertThat(audience(signing, "reports/1")).contains("reports");
    }

    private static Optional<String> audience(SequencerSigning signing, String lock) {
        return signing.verify(signing.sign(new Sequencer(
                        "palisade",
                        new LockName(lock),
                        Mode.EXCLUSIVE,
                        new FencingToken(34),
                        new GrantId(1, 2),
                        1_000)))
                .audience();
    }

    private SequencerSigning signing() throws Exception {
        return SequencerSigning.open(KeysetFile.openOrCreate(folder.resolve("sequencers.json")), "palisade", null);
    }

    @Test
    void failingListenerDoesNotEndTheWatch() throws Exception {
        Path path = Files.writeString(folder.resolve("policy"), "allow a acquire x\n");
        AccessControl access = new AccessControl(new AccessFile<>(path, false, Policy::parse), null, null, () -> 1);
        CredentialFiles files = new CredentialFiles(null, access, signing(), events);
        Files.writeString(path, "allow b acquire x\n");
        for (int i = 0; i < 2; i++) {
            files.check(() -> {
                throw new IllegalStateException("no stream");
            });
        }
        assertThat(warnings).singleElement().asString().contains("the files were not checked", "no stream");
    }

    private void checkTwice(CredentialFiles files) {
        for (int i = 0; i < 2; i++) {
            nanos.addAndGet(1_000_000_000);
            files.check(() -> {});
        }
    }

    private KeysetFile openWithClock(Path path) throws ReflectiveOperationException {
        Constructor<KeysetFile> constructor =
                KeysetFile.class.getDeclaredConstructor(Path.class, boolean.class, LongSupplier.class);
        constructor.setAccessible(true);
        return constructor.newInstance(path, true, (LongSupplier) nanos::get);
    }
}
