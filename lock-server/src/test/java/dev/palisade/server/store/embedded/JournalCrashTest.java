package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.store.log.FencedLog;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
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
 * Power cuts: of a batch that was not synced any sectors may be on the disk, in any order. The journal holds what was synced before,
 * or that batch as well, and goes on. Seeds 1 to {@code palisade.fuzz.seeds} divided by ten.
 */
class JournalCrashTest {
    private static final int SEEDS = Math.max(5, Integer.getInteger("palisade.fuzz.seeds", 200) / 10);
    private static final int SECTOR = 512;
    private static final int HEADER_BYTES = 36;

    /** Of each record that was not deleted the hashes of its parts. */
    private static final class Records implements FencedLog.Loader {
        final TreeMap<Long, List<Integer>> live = new TreeMap<>();

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

        Map<Long, List<Integer>> copy() {
            Map<Long, List<Integer>> copy = new TreeMap<>(live);
            copy.replaceAll((id, parts) -> List.copyOf(parts));
            return copy;
        }
    }

    private final Random random = new Random();

    private static Journal open(Path directory, int fileBytes, Durability durability) throws IOException {
        return new Journal(directory, fileBytes, durability, why -> {
            throw new AssertionError("fatal: " + why);
        });
    }

    private static Map<Long, List<Integer>> load(Path directory, int fileBytes) throws Exception {
        Records records = new Records();
        try (Journal journal = open(directory, fileBytes, Durability.SYNCED)) {
            journal.load(records);
        }
        return records.live;
    }

    /** Files go and come meanwhile, by the journal's own thread. */
    private static Map<String, byte[]> image(Path directory) throws IOException {
        while (true) {
            try (Stream<Path> files = Files.list(directory)) {
                Map<String, byte[]> image = new TreeMap<>();
                for (Path file :
                        files.filter(each -> !each.toString().endsWith(".new")).toList()) {
                    image.put(String.valueOf(file.getFileName()), Files.readAllBytes(file));
                }
                return image;
            } catch (NoSuchFileException e) {
                assertThat(directory).isDirectory();
            }
        }
    }

    private static void write(Path directory, Map<String, byte[]> image) throws IOException {
        if (Files.exists(directory)) {
            JournalTest.deleteAll(directory);
        }
        Files.createDirectories(directory);
        for (Map.Entry<String, byte[]> file : image.entrySet()) {
            Files.write(directory.resolve(file.getKey()), file.getValue());
        }
    }

    private byte[] body(int bytesMax) {
        byte[] body = new byte[1 + random.nextInt(bytesMax)];
        random.nextBytes(body);
        return body;
    }

    /** Of the sectors that differ between the two some are the later ones: the first few, the last few or any. */
    private byte[] mixed(byte[] before, byte[] after) {
        byte[] mixed = before.clone();
        int kind = random.nextInt(3);
        int cut = random.nextInt(20);
        int changed = 0;
        for (int from = 0; from < after.length; from += SECTOR) {
            int to = Math.min(after.length, from + SECTOR);
            if (!Arrays.equals(before, from, to, after, from, to)) {
                boolean kept = kind == 0 ? changed < cut : kind == 1 ? changed >= cut : random.nextBoolean();
                changed++;
                if (kept) {
                    System.arraycopy(after, from, mixed, from, to - from);
                }
            }
        }
        return mixed;
    }

    /** What a power cut leaves while the batch between the two is synced. */
    private Map<String, byte[]> cut(Map<String, byte[]> before, Map<String, byte[]> after) {
        TreeMap<String, byte[]> cut = new TreeMap<>(before); // Also the files that go once it is synced.
        for (Map.Entry<String, byte[]> file : after.entrySet()) {
            byte[] old = before.get(file.getKey());
            if (old == null || old.length != file.getValue().length) {
                old = Arrays.copyOf(Arrays.copyOf(file.getValue(), HEADER_BYTES), file.getValue().length);
            }
            if (!file.getKey().equals("synced")) {
                cut.put(file.getKey(), mixed(old, file.getValue()));
            }
        }
        return cut;
    }

    private void step(Journal journal, Records records, int bytesMax) {
        for (int left = 1 + random.nextInt(8); left > 0; left--) {
            List<Long> ids = new ArrayList<>(records.live.keySet());
            int dice = random.nextInt(3);
            if (ids.isEmpty() || (dice == 0 && ids.size() < 20)) {
                byte[] body = body(bytesMax);
                records.record(journal.add(body), 0, ByteBuffer.wrap(body));
            } else if (dice == 1) {
                long id = ids.get(random.nextInt(ids.size()));
                byte[] body = body(bytesMax);
                int index = records.live.getOrDefault(id, List.of()).size();
                journal.update(id, index, body);
                records.record(id, index, ByteBuffer.wrap(body));
            } else {
                long id = ids.get(random.nextInt(ids.size()));
                journal.delete(id);
                records.deleted(id);
            }
        }
        journal.keepsFrom(records.live.isEmpty() ? Long.MAX_VALUE : records.live.firstKey());
    }

    @Test
    void batchThatAPowerCutToreIsThereOrNotAndTheJournalGoesOn(@TempDir Path temp) throws Exception {
        Path directory = temp.resolve("journal");
        Path copy = temp.resolve("copy");
        int torn = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            random.setSeed(seed);
            int fileBytes = 4096 << random.nextInt(4);
            int bytesMax = random.nextBoolean() ? 300 : random.nextBoolean() ? 3_000 : 2 * fileBytes;
            write(directory, Map.of());
            Records records = new Records();
            try (Journal journal = open(directory, fileBytes, Durability.SYNCED)) {
                journal.load(records);
                journal.delete(1_000_000_000); // So that there is a watermark.
                journal.sync();
                for (int step = 0; step < 40; step++) {
                    Map<Long, List<Integer>> before = records.copy();
                    Map<String, byte[]> base = image(directory);
                    step(journal, records, bytesMax);
                    journal.sync();
                    Map<String, byte[]> cut = cut(base, image(directory));
                    write(copy, cut);
                    Map<Long, List<Integer>> found = load(copy, fileBytes);
                    assertThat(found).as("seed %d, step %d", seed, step).isIn(before, records.copy());
                    assertThat(load(copy, fileBytes)).as("again").isEqualTo(found);
                    Map<String, byte[]> wiped = cut(cut, image(copy));
                    wiped.keySet().retainAll(image(copy).keySet());
                    write(copy, wiped);
                    assertThat(load(copy, fileBytes))
                            .as("seed %d, step %d, and a second one while it was opened", seed, step)
                            .isEqualTo(found);
                    torn += found.equals(before) ? 1 : 0;
                }
            }
        }
        assertThat(torn).as("batches that were torn").isGreaterThan(SEEDS * 5);
    }

    /** An old file goes when the batch that holds its live records anew is on the disk, whatever the durability. */
    @Test
    void fileIsDeletedWhenWhatReplacesItSurvivesAPowerCut(@TempDir Path temp) throws Exception {
        Path directory = temp.resolve("journal");
        Records records = new Records();
        try (Journal journal = open(directory, 1 << 20, Durability.PROCESS)) {
            journal.load(records);
            TreeMap<Long, byte[]> leases = new TreeMap<>();
            for (int i = 0; i < 2_000; i++) {
                byte[] body = body(120);
                leases.put(journal.add(body), body);
            }
            for (int step = 0; Files.exists(directory.resolve("palisade-1.log")); step++) {
                assertThat(step).as("steps without a file that went").isLessThan(20_000);
                byte[] passing = body(4_000);
                journal.delete(journal.add(passing));
                long below = journal.rewritesBelow();
                for (int left = 80; left > 0 && leases.firstKey() < below; left--) {
                    Map.Entry<Long, byte[]> oldest = leases.pollFirstEntry();
                    leases.put(journal.add(oldest.getValue()), oldest.getValue());
                    journal.delete(oldest.getKey());
                }
                journal.keepsFrom(leases.firstKey());
                journal.sync();
            }
            Path after = temp.resolve("after");
            write(after.resolve("journal"), image(directory));
            Journals.forgetWhatWasNotSynced(after);
            assertThat(load(after.resolve("journal"), 1 << 20)).hasSameSizeAs(leases);
        }
    }
}
