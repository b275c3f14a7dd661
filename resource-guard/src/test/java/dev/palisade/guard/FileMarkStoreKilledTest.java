package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes that die, share or run out of room: what was acknowledged is there, in the order it was put. */
@Timeout(300)
class FileMarkStoreKilledTest {
    private static final int RESOURCES = 37;
    private static final int ROUNDS = 14;

    @TempDir
    Path home = Path.of("set by JUnit");

    private Path directory = home;

    @BeforeEach
    void nameADirectoryThatIsMissing() {
        directory = home.resolve("marks");
    }

    private KeptMarks found() {
        try (MarkStore store = MarkStore.file(directory)) {
            return store.open();
        }
    }

    /** The state is that after one of the changes from the last acknowledged on, and no mixture. */
    private static void assertIsAState(KeptMarks kept, int acknowledged, int resources) {
        Marks marks = new Marks();
        boolean found = false;
        for (int i = 1; i <= acknowledged + MarkStoreProcess.WINDOW && !found; i++) {
            if (i > acknowledged) {
                found = MarkLogTest.comparable(kept).equals(MarkLogTest.comparable(marks));
            }
            marks.apply(MarkStoreProcess.change(i, resources));
        }
        found |= MarkLogTest.comparable(kept).equals(MarkLogTest.comparable(marks));
        assertThat(found)
                .as("holds the " + acknowledged + " that were acknowledged")
                .isTrue();
        assertThat(kept.closedInOrder()).isFalse();
    }

    @Test
    void everyAcknowledgedPutOutlivesKillNine() throws Exception {
        Random random = new Random(11);
        int renewed = 0;
        for (int round = 0; round < ROUNDS; round++) {
            directory = home.resolve("marks " + round);
            int killAfter = round == 0 ? 0 : random.nextInt(12_000);
            try (MarkStoreProcess process = MarkStoreProcess.launch(directory, RESOURCES, "unlimited")) {
                assertThat(process.readLine()).isEqualTo("open");
                int last = 0;
                while (last < killAfter) {
                    last = Integer.parseInt(process.readLine());
                }
                int acknowledged = process.killAndReadTheRest(last);
                renewed += acknowledged > 6000 ? 1 : 0;
                assertIsAState(found(), acknowledged, RESOURCES);
            }
        }
        assertThat(renewed)
                .as("rounds in which a new file took the place of the first")
                .isPositive();
    }

    @Test
    void aStoreThatAnotherProcessHasIsRefusedUntilThatOneDies() throws Exception {
        try (MarkStoreProcess process = MarkStoreProcess.launch(directory, RESOURCES, "unlimited")) {
            assertThat(process.readLine()).isEqualTo("open");
            MarkStoreContract.assertUnavailable(this::found, directory.toString(), "in use by another guard");
            assertThat(process.readLine()).isEqualTo("1");
            int acknowledged = process.killAndReadTheRest(1);
            assertIsAState(found(), acknowledged, RESOURCES);
        }
        try (MarkStore store = MarkStore.file(directory)) {
            store.open();
            // Must not cost this process its lock, as it would if the second one so much as closed the lock file.
            MarkStoreContract.assertUnavailable(this::found, "in use by another guard");
            try (MarkStoreProcess process = MarkStoreProcess.launch(directory, RESOURCES, "unlimited")) {
                assertThat(process.readLine())
                        .startsWith("refused MARK_UNAVAILABLE")
                        .contains("in use by another guard");
            }
            MarkStoreContract.await(store.put(MarkStoreContract.mark("goes on", 1)));
        }
        assertThat(found().marks()).contains(MarkStoreContract.mark("goes on", 1));
    }

    /** More marks than a file may hold, which is met when a longer one has to be made. */
    @Test
    void noRoomFailsThePutAndLosesNothingThatWasAcknowledged() throws Exception {
        int resources = 1_000_000;
        int blocks = 1600 * 1024 / blockBytes();
        try (MarkStoreProcess process = MarkStoreProcess.launch(directory, resources, Integer.toString(blocks))) {
            assertThat(process.readLine()).isEqualTo("open");
            int acknowledged = 0;
            String line = process.readLine();
            while (line.matches("\\d+")) {
                acknowledged = Integer.parseInt(line);
                line = process.readLine();
            }
            assertThat(line)
                    .startsWith("failed MARK_UNAVAILABLE")
                    .contains(directory.toString(), "may or may not", "File too large");
            assertThat(acknowledged).isGreaterThan(1000);
            process.killAndReadTheRest(acknowledged);
            assertIsAState(found(), acknowledged, resources);
            assertThat(directory.resolve(MarkLog.NEXT_FILE)).as("half a file").doesNotExist();
        }
    }

    /** What {@code ulimit -f} counts in: 512 bytes in one shell, 1024 in another. */
    private static int blockBytes() throws IOException, InterruptedException {
        Path probe = Files.createTempFile("blocks", ".bin");
        new ProcessBuilder("/bin/sh", "-c", "ulimit -f 1; dd if=/dev/zero of=" + probe + " bs=4096 count=1 2>/dev/null")
                .start()
                .waitFor();
        int bytes = (int) Files.size(probe);
        Files.delete(probe);
        return bytes;
    }
}
