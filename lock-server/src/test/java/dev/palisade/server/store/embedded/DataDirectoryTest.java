package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.Asking;
import dev.palisade.server.store.log.LoggedStore;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DataDirectoryTest {
    private final Asking asking = new Asking();

    private static Map<String, Integer> contents(Path directory) throws IOException {
        Map<String, Integer> contents = new TreeMap<>();
        if (Files.isDirectory(directory)) {
            try (Stream<Path> files = Files.walk(directory)) {
                for (Path file : files.toList()) {
                    contents.put(
                            directory.relativize(file).toString(),
                            Files.isRegularFile(file) ? Arrays.hashCode(Files.readAllBytes(file)) : 0);
                }
            }
        }
        return contents;
    }

    private void refused(Path directory, String... words) throws IOException {
        Map<String, Integer> before = contents(directory);
        assertThatThrownBy(() -> asking.open(directory).close())
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContainingAll(words)
                .message()
                .doesNotContain("\n");
        assertThat(contents(directory)).as("nothing was changed").isEqualTo(before);
    }

    @Test
    void aSecondStoreOnTheSameDirectoryIsRefused(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            assertThat(store.nowMillis()).isPositive();
            assertThatThrownBy(() -> asking.open(directory))
                    .isInstanceOf(StoreUnusable.class)
                    .hasMessageContaining("in use by another lock server");
        }
        asking.open(directory).close();
    }

    /** Reading a pipe waits for its writer, and a directory is no full disk. */
    @ParameterizedTest
    @CsvSource({
        "LOCK, pipe",
        "LOCK, directory",
        "PALISADE-STORE, pipe",
        "PALISADE-STORE, directory",
        "PALISADE-STORE.new, pipe",
        "journal, pipe",
        "journal, file",
        "journal/synced, pipe",
        "journal/synced, directory",
        "journal/synced, socket",
        "journal/synced, device",
        "journal/synced.new, directory",
        "journal/palisade-1.log, directory",
        "journal/palisade-1.log, pipe"
    })
    @Timeout(60)
    void entryThatIsNoFileIsRefusedForWhatItIs(String name, String kind, @TempDir Path temp) throws Exception {
        Path directory = temp.resolve("s");
        asking.open(directory).close();
        Path entry = directory.resolve(name);
        if (Files.isDirectory(entry)) {
            Files.move(entry, temp.resolve("aside"));
        }
        Files.deleteIfExists(entry);
        switch (kind) {
            case "pipe" ->
                assertThat(new ProcessBuilder("mkfifo", entry.toString())
                                .start()
                                .waitFor())
                        .isZero();
            case "directory" -> Files.createDirectory(entry);
            case "file" -> Files.createFile(entry);
            case "device" -> Files.createSymbolicLink(entry, Path.of("/dev/zero"));
            default ->
                ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                        .bind(UnixDomainSocketAddress.of(entry))
                        .close();
        }
        assertThatThrownBy(() -> asking.open(directory).close())
                .isInstanceOf(StoreUnusable.class)
                .hasMessageStartingWith(directory + "/" + name + " is ")
                .hasMessageContaining(
                        switch (kind) {
                            case "directory" -> " is a directory and no file; ";
                            case "file" -> " is a file and no directory; ";
                            default -> " is a pipe, a socket or a device and no ";
                        })
                .message()
                .doesNotContain("\n", "free space");
    }

    @Test
    void linkToNothingIsRefusedForWhatItIs(@TempDir Path directory) throws Exception {
        asking.open(directory).close();
        Path synced = directory.resolve("journal/synced");
        Files.delete(synced);
        Files.createSymbolicLink(synced, directory.resolve("nowhere"));
        refused(directory, "journal/synced is a link to nothing and no file; move it away");
    }

    @Test
    void watermarkThatIsFarTooLongIsNotReadWhole(@TempDir Path directory) throws Exception {
        asking.open(directory).close();
        try (RandomAccessFile file =
                new RandomAccessFile(directory.resolve("journal/synced").toFile(), "rw")) {
            file.setLength(3L << 30);
        }
        assertThatThrownBy(() -> asking.open(directory).close())
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("synced is damaged");
    }

    /** A session id is in the journal, and with it anybody acts for its client. */
    @Test
    void journalIsItsOwnersAlone(@TempDir Path temp) throws Exception {
        Path directory = temp.resolve("server");
        asking.open(directory).close();
        assertThat(permissions(directory)).isEqualTo("rwx------");
        assertThat(permissions(directory.resolve("journal"))).isEqualTo("rwx------");
        try (Stream<Path> files = Files.list(directory.resolve("journal"))) {
            assertThat(files.toList())
                    .isNotEmpty()
                    .allSatisfy(file -> assertThat(permissions(file)).isEqualTo("rw-------"));
        }
    }

    @Test
    void journalOfAnEarlierReleaseIsTakenFromOthers(@TempDir Path temp) throws Exception {
        Path directory = temp.resolve("server");
        Path journal = directory.resolve("journal");
        asking.open(directory).close();
        Files.setPosixFilePermissions(journal, PosixFilePermissions.fromString("rwxr-xr-x"));
        try (Stream<Path> files = Files.list(journal)) {
            for (Path file : files.toList()) {
                Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
            }
        }
        asking.open(directory).close();
        assertThat(permissions(journal)).isEqualTo("rwx------");
        try (Stream<Path> files = Files.list(journal)) {
            assertThat(files.toList())
                    .allSatisfy(file -> assertThat(permissions(file)).isEqualTo("rw-------"));
        }
    }

    private static String permissions(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    @Test
    void aFileIsNotADirectory(@TempDir Path temp) throws Exception {
        Path file = Files.writeString(temp.resolve("file"), "x");
        refused(file, "is not a directory", "--data-dir");
        refused(file.resolve("below"), "cannot be used");
    }

    @Test
    void aPlaceWhereNothingCanBeWrittenIsRefused() throws Exception {
        refused(Path.of("/proc/palisade"), "cannot be used");
    }

    @Test
    void aDirectoryWithForeignFilesIsRefused(@TempDir Path directory) throws Exception {
        Files.writeString(directory.resolve("holiday.jpg"), "x");
        refused(directory, "other files (holiday.jpg)");
    }

    @Test
    void aLostJournalIsNeverBegunAnew(@TempDir Path directory) throws Exception {
        asking.open(directory).close();
        JournalTest.deleteAll(directory.resolve("journal"));
        refused(directory, "has lost its journal");
        Files.createDirectories(directory.resolve("journal"));
        refused(directory, "has lost its journal");
    }

    @Test
    void aStoreOfAnotherReleaseIsRefused(@TempDir Path directory) throws Exception {
        asking.open(directory).close();
        Files.write(directory.resolve("PALISADE-STORE"), new byte[] {(byte) 0xff, 'x'});
        refused(directory, "another release");
        assertThatThrownBy(() -> asking.open(directory))
                .as("and the lock on the directory was given back")
                .hasMessageContaining("another release");
    }

    @Test
    void aDamagedJournalIsRefused(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            for (int i = 1; i < 20; i++) {
                Asking.granted(store, Asking.acquire("lock" + i, 1, i, Duration.ZERO));
            }
        }
        Path journal = directory.resolve("journal").resolve("palisade-1.log");
        byte[] bytes = Files.readAllBytes(journal);
        bytes[1_000] ^= 4;
        Files.write(journal, bytes);
        refused(directory, "is damaged", "restore");
    }

    @Test
    void aStoreThatDiedBeforeItWasMarkedIsBegunAgain(@TempDir Path directory) throws Exception {
        asking.open(directory).close();
        Files.delete(directory.resolve("PALISADE-STORE"));
        asking.open(directory).close();
        assertThat(directory.resolve("PALISADE-STORE")).exists();
    }
}
