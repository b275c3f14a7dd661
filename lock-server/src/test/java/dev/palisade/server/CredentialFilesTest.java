package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
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
        AccessControl access = new AccessControl(new AccessFile<>(path, false, Policy::parse), null, null);
        CredentialFiles files = new CredentialFiles(null, access, List.of(), events);
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
        CredentialFiles files = new CredentialFiles(null, null, List.of(keyset), events);
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
    void failingListenerDoesNotEndTheWatch() throws Exception {
        Path path = Files.writeString(folder.resolve("policy"), "allow a acquire x\n");
        AccessControl access = new AccessControl(new AccessFile<>(path, false, Policy::parse), null, null);
        CredentialFiles files = new CredentialFiles(null, access, List.of(), events);
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
