package dev.palisade.contract.crypto;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.mac.AesCmacParameters;
import com.google.crypto.tink.mac.HmacParameters;
import com.google.crypto.tink.mac.MacConfig2026;
import com.google.crypto.tink.mac.MacParameters;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeysetFileTest {
    private static final Sequencer SEQUENCER = new Sequencer(
            "palisade", new LockName("orders/42"), Mode.EXCLUSIVE, new FencingToken(34), new GrantId(1, 2), 1_000);

    private final AtomicLong nanos = new AtomicLong();

    @TempDir
    Path directory;

    @Test
    void theFileIsMadeForItsOwnerOnlyAndLeavesNothingBeside() throws Exception {
        Path path = directory.resolve("keys/sequencers.json");
        KeysetFile made = KeysetFile.openOrCreate(path);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                .isEqualTo("rw-------");
        assertThat(filesBeside(path)).containsExactly(path);
        assertThat(KeysetFile.open(path).verifier("palisade").verify(made.sign(SEQUENCER)))
                .isEqualTo(SEQUENCER);
        made.replace(made.keys().withNewKey());
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                .isEqualTo("rw-------");
        assertThat(filesBeside(path)).containsExactly(path);
    }

    @ParameterizedTest
    @ValueSource(strings = {"rw-r--r--", "rw----r--", "rw--w----", "rw-----w-", "rw-rw-rw-", "rw---x---"})
    void aFileThatOthersCanUseIsRefused(String permissions) throws Exception {
        Path path = created();
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
        assertThatThrownBy(() -> KeysetFile.open(path))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(permissions)
                .hasMessageContaining("chmod 600 it");
    }

    @Test
    void groupReadRefusalNamesOwnerAndRule() throws Exception {
        Path path = created();
        int owner = (int) Files.getAttribute(path, "unix:uid");
        if (owner == 0) {
            owner = 1000;
            Files.setAttribute(path, "unix:uid", owner);
        }
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("r--r-----"));
        assertThatThrownBy(() -> KeysetFile.open(path))
                .isInstanceOf(IOException.class)
                .hasMessage("signing keyset " + path + " can be used by others (r--r-----, owner " + owner
                        + "; a group may read only a file of root's): chmod 600 it,"
                        + " or in a Kubernetes Secret defaultMode 0440 and fsGroup");
    }

    @Test
    void bytesThatAreNoTextAreNoUsableKeyset() throws Exception {
        Path path = created();
        byte[] bytes = new byte[300];
        new java.util.Random(1).nextBytes(bytes);
        Files.write(path, bytes);
        assertThatThrownBy(() -> KeysetFile.open(path))
                .isInstanceOf(IOException.class)
                .hasMessage("signing keyset " + path + " is not a usable keyset; restore it from a good copy");
    }

    static Stream<Arguments> weakKeys() throws Exception {
        HmacParameters.Builder good = HmacParameters.builder()
                .setKeySizeBytes(32)
                .setTagSizeBytes(32)
                .setHashType(HmacParameters.HashType.SHA256)
                .setVariant(HmacParameters.Variant.TINK);
        return Stream.of(
                arguments("key of 16 bytes", good.setKeySizeBytes(16).build()),
                arguments(
                        "tag of 16 bytes",
                        good.setKeySizeBytes(32).setTagSizeBytes(16).build()),
                arguments(
                        "hash SHA512",
                        good.setTagSizeBytes(32)
                                .setHashType(HmacParameters.HashType.SHA512)
                                .build()),
                arguments(
                        "prefix NO_PREFIX",
                        good.setHashType(HmacParameters.HashType.SHA256)
                                .setVariant(HmacParameters.Variant.NO_PREFIX)
                                .build()),
                arguments(
                        "prefix CRUNCHY",
                        good.setVariant(HmacParameters.Variant.CRUNCHY).build()),
                arguments(
                        "AesCmacParameters",
                        AesCmacParameters.builder()
                                .setKeySizeBytes(32)
                                .setTagSizeBytes(16)
                                .setVariant(AesCmacParameters.Variant.TINK)
                                .build()));
    }

    /** Of the key that signs and of one that only verifies: a forger picks the weakest. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("weakKeys")
    void keyWeakerThanPromisedIsRefused(String what, MacParameters weak) throws Exception {
        KeysetHandle.Builder.Entry only =
                KeysetHandle.generateEntryFromParameters(weak).withFixedId(77).makePrimary();
        KeysetHandle alone = KeysetHandle.newBuilder()
                .setConfiguration(MacConfig2026.get())
                .addEntry(only)
                .build();
        KeysetHandle beside = KeysetHandle.newBuilder(TinkJsonProtoKeysetFormat.parseKeyset(
                        SequencerKeys.generate().toJson(), MacConfig2026.get(), InsecureSecretKeyAccess.get()))
                .setConfiguration(MacConfig2026.get())
                .addEntry(KeysetHandle.generateEntryFromParameters(weak).withFixedId(77))
                .build();
        Path path = created();
        for (KeysetHandle keyset : List.of(alone, beside)) {
            Files.writeString(
                    path,
                    TinkJsonProtoKeysetFormat.serializeKeyset(
                            keyset, MacConfig2026.get(), InsecureSecretKeyAccess.get()));
            assertThatThrownBy(() -> KeysetFile.open(path))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith("signing keyset " + path + " is not a usable keyset: key 77 is not ")
                    .hasMessageContainingAll(what, "HMAC-SHA256 with 32 bytes of key and of tag", "restore it from")
                    .message()
                    .doesNotContain("\n");
        }
    }

    /** As {@code --keyset <(cat keys)} names one. Waiting for its writer could take for ever. */
    @Test
    void pipeIsNoUsableKeyset() throws Exception {
        Path pipe = directory.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        assertThatThrownBy(() -> KeysetFile.open(pipe))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("signing keyset " + pipe + " is not a usable keyset");
    }

    @Test
    void fileThatIsFarTooLongForAKeysetIsNotReadWhole() throws Exception {
        Path path = created();
        Files.write(path, new byte[2 << 20]);
        assertThatThrownBy(() -> KeysetFile.open(path))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("is not a usable keyset");
    }

    @ParameterizedTest
    @ValueSource(strings = {"r--------", "rw-------", "rwx------"})
    void aFileOfItsOwnerIsAccepted(String permissions) throws Exception {
        Path path = created();
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
        assertThat(KeysetFile.open(path).keys().keys()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({
        "r--r-----, 0, false",
        "rw-r-----, 0, false",
        "r--r-----, 1000, true",
        "rw-r-----, 1000, true",
        "rw-------, 1000, false",
        "rw-rw----, 0, true",
        "rw-r-x---, 0, true",
        "r--r--r--, 0, true",
        "r--r----x, 0, true"
    })
    void theGroupMayReadAFileOfRootOnly(String permissions, int ownerUid, boolean shared) {
        assertThat(KeysetFile.isShared(PosixFilePermissions.fromString(permissions), ownerUid))
                .isEqualTo(shared);
    }

    @Test
    void aMountedSecretIsFollowedThroughItsLinks() throws Exception {
        SequencerKeys old = SequencerKeys.generate();
        secretVersion("..2026_01", old);
        Path data = Files.createSymbolicLink(directory.resolve("..data"), Path.of("..2026_01"));
        Path path = Files.createSymbolicLink(directory.resolve("keys.json"), Path.of("..data/keys.json"));
        KeysetFile file = openWithClock(path);
        assertThat(file.keys().keys()).hasSize(1);

        secretVersion("..2026_02", old.withNewKey());
        Files.move(
                Files.createSymbolicLink(directory.resolve("..data_tmp"), Path.of("..2026_02")),
                data,
                StandardCopyOption.ATOMIC_MOVE);
        assertThat(aSecondLater(file).keys()).hasSize(2);
    }

    /** One version of a Secret as the kubelet writes it, but for the owner: only root can make files of root. */
    private void secretVersion(String name, SequencerKeys keys) throws IOException {
        Path file = Files.createDirectory(directory.resolve(name)).resolve("keys.json");
        Files.writeString(file, keys.toJson());
        boolean root = (int) Files.getAttribute(file, "unix:uid") == 0;
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(root ? "r--r-----" : "r--------"));
    }

    @Test
    void aMissingFileIsToldInOneLine() {
        assertThatThrownBy(() -> KeysetFile.open(directory.resolve("none.json")))
                .isInstanceOf(IOException.class)
                .hasMessageMatching("signing keyset .*none.json does not exist; .*");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "{}", "[]", "not json at all", "{\"primaryKeyId\":1,\"key\":[]}"})
    void aFileThatIsNoKeysetIsToldInOneLine(String content) throws Exception {
        Path path = created();
        Files.writeString(path, content);
        assertThatThrownBy(() -> KeysetFile.open(path))
                .isInstanceOf(IOException.class)
                .hasMessageMatching("signing keyset .* is not a usable keyset; restore it from a good copy");
    }

    @Test
    void ofManyCreatorsOneWinsAndAllHaveItsKeys() throws Exception {
        int creators = 8;
        ExecutorService threads = Executors.newFixedThreadPool(creators);
        try {
            for (int round = 0; round < 10; round++) {
                Path path = directory.resolve("race-" + round).resolve("keys.json");
                CyclicBarrier start = new CyclicBarrier(creators);
                List<Future<KeysetFile>> opened = new ArrayList<>();
                for (int i = 0; i < creators; i++) {
                    opened.add(threads.submit(() -> {
                        start.await();
                        return KeysetFile.openOrCreate(path);
                    }));
                }
                SignedSequencer signed = opened.get(0).get().sign(SEQUENCER);
                for (Future<KeysetFile> file : opened) {
                    assertThat(file.get().verifier("palisade").verify(signed)).isEqualTo(SEQUENCER);
                }
                assertThat(filesBeside(path)).containsExactly(path);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void aChangedFileIsTakenUpASecondLater() throws Exception {
        Path path = created();
        KeysetFile file = openWithClock(path);
        SequencerKeys old = file.keys();
        KeysetFile.open(path).replace(old.withNewKey());
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(999));
        assertThat(file.keys()).isSameAs(old);
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(1));
        assertThat(file.keys().keys()).hasSize(2);
    }

    @Test
    void aVerifierAndASignerFollowTheFile() throws Exception {
        Path path = created();
        KeysetFile file = openWithClock(path);
        SequencerVerifier verifier = file.verifier("palisade");
        SequencerKeys added = file.keys().withNewKey();
        int fresh = added.keys().get(1).id();
        KeysetFile.open(path).replace(added.promote(fresh));
        SignedSequencer byFresh = added.promote(fresh).sign(SEQUENCER);
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(verifier.verify(byFresh)).isEqualTo(SEQUENCER);
        assertThat(file.sign(SEQUENCER)).isEqualTo(byFresh);
    }

    @Test
    void replacingIsSeenAtOnce() throws Exception {
        KeysetFile file = openWithClock(created());
        file.replace(file.keys().withNewKey());
        assertThat(file.keys().keys()).hasSize(2);
    }

    /** Else root would take the keyset from the user of a server, which runs on with the former keys. */
    @Test
    void replacingKeepsOwnerAndMode() throws Exception {
        Path path = created();
        boolean isRoot = (int) Files.getAttribute(path, "unix:uid") == 0;
        if (isRoot) {
            Files.setAttribute(path, "unix:uid", 4_242);
            Files.setAttribute(path, "unix:gid", 4_243);
        }
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("r--------"));
        Object owner = Files.getAttribute(path, "unix:uid");
        Object group = Files.getAttribute(path, "unix:gid");
        KeysetFile file = KeysetFile.open(path);
        file.replace(file.keys().withNewKey());
        assertThat(Files.getAttribute(path, "unix:uid")).isEqualTo(owner);
        assertThat(Files.getAttribute(path, "unix:gid")).isEqualTo(group);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                .isEqualTo("r--------");
    }

    @Test
    void aFileThatTurnedBadLeavesTheLastGoodKeys() throws Exception {
        Path path = created();
        KeysetFile file = openWithClock(path);
        SequencerKeys good = file.keys();
        String json = Files.readString(path);

        assertThat(file.problem()).isEmpty();
        Files.writeString(path, json.substring(0, json.length() / 2));
        assertThat(aSecondLater(file)).isSameAs(good);
        assertThat(file.problem()).hasValueSatisfying(why -> assertThat(why).contains("is not a usable keyset"));
        Files.delete(path);
        assertThat(aSecondLater(file)).isSameAs(good);
        Files.writeString(path, json);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r--r--"));
        Files.setLastModifiedTime(path, FileTime.fromMillis(1_000));
        assertThat(aSecondLater(file)).isSameAs(good);

        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
        Files.writeString(path, good.withNewKey().toJson());
        assertThat(aSecondLater(file).keys()).as("good again").hasSize(2);
        assertThat(file.problem()).isEmpty();
    }

    private SequencerKeys aSecondLater(KeysetFile file) {
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        return file.keys();
    }

    private Path created() throws IOException {
        Path path = directory.resolve("keys.json");
        return KeysetFile.openOrCreate(path).path();
    }

    /** The clock is no part of the public surface. */
    private KeysetFile openWithClock(Path path) throws ReflectiveOperationException {
        Constructor<KeysetFile> constructor =
                KeysetFile.class.getDeclaredConstructor(Path.class, boolean.class, LongSupplier.class);
        constructor.setAccessible(true);
        return constructor.newInstance(path, false, (LongSupplier) nanos::get);
    }

    private static List<Path> filesBeside(Path path) throws IOException {
        try (Stream<Path> files = Files.list(path.resolveSibling(""))) {
            List<Path> all = files.toList();
            return all;
        }
    }
}
