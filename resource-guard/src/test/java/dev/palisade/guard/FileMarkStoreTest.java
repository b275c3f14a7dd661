package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileMarkStoreTest extends MarkStoreContract {
    @TempDir
    Path home = Path.of("set by JUnit");

    private Path directory = home;

    @BeforeEach
    void nameADirectoryThatIsMissing() {
        directory = home.resolve("guard").resolve("marks");
    }

    @Override
    MarkStore store() {
        return MarkStore.file(directory);
    }

    @Override
    void createNeverUsed() {
        MarkStore.createNeverUsed(directory);
    }

    /** What does not fit into the file needs a new one, which cannot be made. */
    @Override
    void breakIt() throws IOException {
        Files.move(directory, home.resolve("moved"));
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    private long bytes() throws IOException {
        return Files.size(directory.resolve(MarkLog.FILE));
    }

    @Test
    void itIsHeldForLife() throws Exception {
        MarkStore store = open();
        assertThat(store.isHeldForLife()).isTrue();
        await(store.confirm());
    }

    @Test
    void aSecondOpenerIsTurnedAwayAndTheFirstGoesOn() throws Exception {
        MarkStore store = open();
        assertUnavailable(() -> store().open(), directory.toString(), "in use by another guard");
        assertUnavailable(this::createNeverUsed, directory.toString(), "already");
        await(store.put(mark("a", 1)));
        store.close();
        assertThat(found().marks()).containsExactly(mark("a", 1));
    }

    @Test
    void anEmptyDirectoryIsANewStore() throws Exception {
        Files.createDirectories(directory);
        assertThat(found().complete()).isFalse();
    }

    @Test
    void aStoreWhoseFileIsGoneIsANewOneAndNotComplete() throws Exception {
        createNeverUsed();
        Files.delete(directory.resolve(MarkLog.FILE));
        assertUnavailable(this::createNeverUsed, directory.toString(), "what is left of one");
        assertThat(found()).isEqualTo(new KeptMarks(false, false, List.of(), List.of()));
    }

    @Test
    void aDirectoryThatHoldsStrangersFilesIsRefusedAndLeftAsItWas() throws Exception {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("objects.mv.db"), "somebody's");
        assertUnavailable(() -> store().open(), directory.toString(), "objects.mv.db");
        assertUnavailable(this::createNeverUsed, directory.toString(), "objects.mv.db");
        assertThat(files()).containsExactly("objects.mv.db");
    }

    @Test
    void whatIsNoDirectoryOrCannotBeReadIsRefused() throws Exception {
        Files.createDirectories(home.resolve("guard"));
        Files.writeString(directory, "a file");
        assertUnavailable(() -> store().open(), directory.toString(), "not a directory");
        directory = directory.resolve("below");
        assertUnavailable(() -> store().open(), directory.toString(), "cannot be read");
        directory = home.resolve("other");
        Files.createDirectories(directory.resolve(MarkLog.FILE));
        assertUnavailable(() -> store().open(), directory.toString(), "cannot be read");
    }

    @Test
    void aRefusedOpenGivesTheDirectoryUp() throws Exception {
        Files.createDirectories(directory);
        Path file = directory.resolve(MarkLog.FILE);
        Files.writeString(file, "not marks");
        assertUnavailable(() -> store().open(), file.toString(), "move the directory away");
        Files.delete(file);
        open().close();
    }

    @Test
    void manyOverwritesTakeNoMoreRoomThanTheMarksNeed() throws Exception {
        MarkStore store = open();
        CompletionStage<Void> last = CompletableFuture.completedStage(null);
        for (int token = 1; token <= 60_000; token++) {
            last = store.put(mark("r" + token % 10, token));
            if (token % 500 == 0) {
                await(last);
                assertThat(bytes()).isEqualTo(MarkLog.FILE_BYTES_MIN);
                assertThat(files()).isSubsetOf("marks.lock", "marks.log");
            }
        }
        store.close();
        assertThat(found().marks()).hasSize(10).contains(mark("r0", 60_000), mark("r9", 59_999));
    }

    @Test
    void droppedMarksGiveTheirRoomBack() throws Exception {
        MarkStore store = open();
        List<String> names = new ArrayList<>();
        for (int i = 1; i <= 12_000; i++) {
            names.add("resource with a name of some length " + i);
            store.put(mark(names.get(i - 1), i));
        }
        await(store.confirm());
        store.close();
        MarkStore again = open();
        assertThat(bytes()).isGreaterThan(MarkLog.FILE_BYTES_MIN);
        await(again.putBase(base(1, 12_000), names));
        again.close();
        assertThat(found().marks()).isEmpty();
        assertThat(bytes()).isEqualTo(MarkLog.FILE_BYTES_MIN);
    }

    @Test
    void aBatchThatDoesNotFitIsKeptAllTheSame() throws Exception {
        MarkStore store = open();
        List<String> names = new ArrayList<>();
        for (int i = 1; i <= 20_000; i++) {
            names.add("never there, but named at some length for the size of the record " + i);
        }
        store.put(mark("a", 1));
        await(store.putBase(base(1, 20_000), names));
        await(store.put(mark("b", 2)));
        store.close();
        KeptMarks kept = found();
        assertThat(kept.marks()).containsExactlyInAnyOrder(mark("a", 1), mark("b", 2));
        assertThat(kept.bases()).containsExactly(base(1, 20_000));
    }
}
