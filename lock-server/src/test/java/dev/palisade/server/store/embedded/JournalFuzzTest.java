package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A journal that was synced and closed, then damaged at a place that the seed chooses. It is refused in one line, or opens with
 * exactly what was in it. Seeds 1 to {@code palisade.fuzz.seeds} (200).
 */
class JournalFuzzTest {
    private static final int SEEDS = Integer.getInteger("palisade.fuzz.seeds", 200);
    private static final int FILE_BYTES = 32 << 10;
    private static final int STEPS = 60;

    /** What is read back: of each record that was not deleted the hashes of its parts. */
    private static final class Records implements FencedLog.Loader {
        final Map<Long, List<Integer>> live = new TreeMap<>();

        @Override
        public void record(long id, int index, ByteBuffer body) {
            byte[] bytes = new byte[body.remaining()];
            body.get(bytes);
            live.computeIfAbsent(id, fresh -> new ArrayList<>()).add(31 * index + Arrays.hashCode(bytes));
        }

        @Override
        public void deleted(long id) {
            live.remove(id);
        }
    }

    private static void mustNotFail(String why) {
        throw new AssertionError("fatal: " + why);
    }

    private static Journal open(Path directory) throws IOException {
        return new Journal(directory, FILE_BYTES, Durability.SYNCED, JournalFuzzTest::mustNotFail);
    }

    private static Map<Long, List<Integer>> load(Path directory) throws Exception {
        Records records = new Records();
        try (Journal journal = open(directory)) {
            journal.load(records);
        }
        return records.live;
    }

    /** Writes a journal, syncs each step, and returns what it holds. */
    private static Map<Long, List<Integer>> write(Path directory) throws Exception {
        Records records = new Records();
        Random random = new Random(1);
        try (Journal journal = open(directory)) {
            journal.load(records);
            for (int step = 0; step < STEPS; step++) {
                byte[] body = new byte[1 + random.nextInt(200)];
                random.nextBytes(body);
                if (step % 5 == 4) {
                    long first = records.live.keySet().iterator().next();
                    journal.delete(first);
                    records.deleted(first);
                } else {
                    records.record(journal.add(body), 0, ByteBuffer.wrap(body));
                }
                journal.sync();
            }
        }
        return records.live;
    }

    @Test
    void damagedJournalIsRefusedOrHoldsWhatItHeld(@TempDir Path temp) throws Exception {
        Path whole = temp.resolve("whole");
        Map<Long, List<Integer>> last = write(whole);
        assertThat(load(whole)).isEqualTo(last).isNotEmpty();
        int refused = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            Path copy = temp.resolve("seed" + seed);
            JournalTest.copy(whole, copy);
            String damage = damage(copy, new Random(seed));
            try {
                Map<Long, List<Integer>> read = load(copy);
                assertThat(read).as("seed %d: %s", seed, damage).isEqualTo(last);
            } catch (StoreUnusable e) {
                refused++;
                assertThat(e.getMessage())
                        .as("seed %d: %s", seed, damage)
                        .isNotEmpty()
                        .doesNotContain("\n");
            }
        }
        assertThat(refused).as("damage was noticed").isGreaterThan(SEEDS / 4);
    }

    /** Changes a few bytes of one file where it is written, and says which. */
    private static String damage(Path directory, Random random) throws IOException {
        List<Path> files;
        try (Stream<Path> listed = Files.list(directory)) {
            files = listed.filter(file -> file.toString().endsWith(".log"))
                    .sorted()
                    .toList();
        }
        Path file = files.get(random.nextInt(files.size()));
        byte[] bytes = Files.readAllBytes(file);
        int used = bytes.length;
        while (used > 1 && bytes[used - 1] == 0) {
            used--;
        }
        int at = random.nextInt(used);
        int length = 1 + random.nextInt(random.nextBoolean() ? 4 : 400);
        int kind = random.nextInt(3);
        for (int i = at; i < Math.min(used, at + length); i++) {
            bytes[i] =
                    kind == 0 ? (byte) (bytes[i] ^ (1 << random.nextInt(8))) : kind == 1 ? 0 : (byte) random.nextInt();
        }
        Files.write(file, bytes);
        return file.getFileName() + ", " + length + " bytes from " + at + ", kind " + kind;
    }
}
