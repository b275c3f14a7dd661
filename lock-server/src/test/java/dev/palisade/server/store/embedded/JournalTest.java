package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.files.RecordFile;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JournalTest {
    private static final int FILE_BYTES = 256 << 10;

    /** What a reader makes of the records: the parts of each that was not deleted. */
    private static final class Contents implements FencedLog.Loader {
        final Map<Long, List<Integer>> live = new TreeMap<>();

        @Override
        public void record(long id, int index, ByteBuffer body) {
            byte[] bytes = new byte[body.remaining()];
            body.get(bytes);
            List<Integer> parts = live.computeIfAbsent(id, fresh -> new ArrayList<>());
            parts.add(index);
            parts.add(Arrays.hashCode(bytes));
        }

        @Override
        public void deleted(long id) {
            live.remove(id);
        }

        int parts(long id) {
            return live.getOrDefault(id, List.of()).size() / 2;
        }
    }

    /** A journal and, beside it, what must be in it after each append. */
    private static final class Modelled implements AutoCloseable {
        final Journal journal;
        final Contents contents = new Contents();
        final Random random;

        Modelled(Path directory, long seed) throws Exception {
            journal = new Journal(directory, FILE_BYTES, Durability.SYNCED, JournalTest::mustNotFail);
            random = new Random(seed);
            journal.load(contents);
        }

        long add(int bytes) {
            byte[] body = body(bytes);
            long id = journal.add(body);
            contents.record(id, 0, ByteBuffer.wrap(body));
            return id;
        }

        void update(long id, int bytes) {
            byte[] body = body(bytes);
            int index = contents.parts(id);
            journal.update(id, index, body);
            contents.record(id, index, ByteBuffer.wrap(body));
        }

        void delete(long id) {
            journal.delete(id);
            contents.deleted(id);
        }

        /** As the store does before each sync: old records move to the front when the journal asks for it. */
        void compactAndSync() {
            long below = journal.rewritesBelow();
            for (int left = 32; left > 0 && oldest() < below; left--) {
                delete(oldest());
                add(500);
            }
            journal.keepsFrom(oldest());
            journal.sync();
        }

        private long oldest() {
            return contents.live.isEmpty()
                    ? Long.MAX_VALUE
                    : contents.live.keySet().iterator().next();
        }

        void randomStep(int liveMax, int bytesMax) {
            List<Long> ids = new ArrayList<>(contents.live.keySet());
            int dice = random.nextInt(3);
            if (ids.isEmpty() || (dice == 0 && ids.size() < liveMax)) {
                add(1 + random.nextInt(bytesMax));
            } else if (dice == 1) {
                update(ids.get(random.nextInt(ids.size())), 1 + random.nextInt(bytesMax));
            } else {
                delete(ids.get(random.nextInt(ids.size())));
            }
        }

        private byte[] body(int bytes) {
            byte[] body = new byte[bytes];
            random.nextBytes(body);
            return body;
        }

        @Override
        public void close() {
            journal.close();
        }
    }

    private static void mustNotFail(String why) {
        throw new AssertionError("fatal: " + why);
    }

    private static Map<Long, List<Integer>> load(Path directory) throws Exception {
        Contents contents = new Contents();
        try (Journal journal = new Journal(directory, FILE_BYTES, Durability.SYNCED, JournalTest::mustNotFail)) {
            journal.load(contents);
        }
        return contents.live;
    }

    static List<Path> logs(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".log"))
                    .sorted(java.util.Comparator.comparingInt(file -> number(file)))
                    .toList();
        }
    }

    private static int number(Path file) {
        return Integer.parseInt(file.getFileName().toString().replaceAll("\\D", ""));
    }

    private static long bytes(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        }
    }

    static void copy(Path from, Path to) throws IOException {
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                if (Files.isDirectory(file)) {
                    copy(file, to.resolve(file.getFileName()));
                } else {
                    Files.copy(file, to.resolve(file.getFileName()));
                }
            }
        }
    }

    /** A record ends with its length, and what follows in the file is zeros, too. */
    @ParameterizedTest
    @ValueSource(ints = {255, 256, 257, 512, 32_768, 65_280})
    void recordWhoseLengthEndsInZerosIsReadBack(int recordBytes, @TempDir Path directory) throws Exception {
        int around = RecordFile.RECORD_HEADER_BYTES + RecordFile.RECORD_TRAILER_BYTES + 12;
        for (int opened = 1; opened <= 3; opened++) {
            Map<Long, List<Integer>> written;
            try (Modelled modelled = new Modelled(directory, opened)) {
                modelled.add(recordBytes - around);
                modelled.journal.sync();
                written = modelled.contents.live;
            }
            assertThat(load(directory)).hasSize(opened).isEqualTo(written);
        }
    }

    @Test
    void whatWasAppendedAndSyncedIsReadBackInOrder(@TempDir Path directory) throws Exception {
        Map<Long, List<Integer>> expected;
        try (Modelled modelled = new Modelled(directory, 1)) {
            for (int i = 0; i < 500; i++) {
                modelled.randomStep(20, 300);
                if (i % 7 == 0) {
                    modelled.journal.sync();
                }
            }
            modelled.journal.sync();
            expected = modelled.contents.live;
        }
        assertThat(load(directory)).isEqualTo(expected).isNotEmpty();
        assertThat(load(directory)).as("a second time").isEqualTo(expected);
    }

    /** A disk that was full when the server was stopped has no place for another. */
    @Test
    void restartUsesTheFileThatWasMadeReady(@TempDir Path directory) throws Exception {
        new Modelled(directory, 1).close();
        Path ready = directory.resolve("palisade-2.log");
        Object made = Files.getAttribute(ready, "unix:ino");
        new Modelled(directory, 2).close();
        assertThat(Files.getAttribute(ready, "unix:ino")).isEqualTo(made);
        assertThat(logs(directory)).hasSize(2);
    }

    @Test
    void idsAreNotUsedAgainAfterAReload(@TempDir Path directory) throws Exception {
        long first;
        try (Modelled modelled = new Modelled(directory, 1)) {
            first = modelled.add(10);
            modelled.journal.sync();
        }
        try (Modelled modelled = new Modelled(directory, 2)) {
            assertThat(modelled.add(10)).isGreaterThan(first);
            modelled.journal.sync();
        }
    }

    @Test
    void reclaimingAndCompactionKeepTheDiskBoundedAndLoseNothing(@TempDir Path directory) throws Exception {
        for (int round = 0; round < 2; round++) {
            Map<Long, List<Integer>> expected;
            try (Modelled modelled = new Modelled(directory, round)) {
                // Some that live long, so that no file is ever free of live records and only compaction can help.
                for (int i = 0; i < 20; i++) {
                    modelled.add(500);
                }
                long written = 0;
                while (written < 60L * FILE_BYTES) {
                    long passing = modelled.add(2_000);
                    modelled.update(passing, 2_000);
                    if (modelled.random.nextInt(30) == 0) {
                        modelled.add(100);
                    }
                    modelled.delete(passing);
                    written += 4_000;
                    if (modelled.random.nextInt(4) == 0) {
                        modelled.compactAndSync();
                    }
                }
                modelled.compactAndSync();
                expected = modelled.contents.live;
                await("the disk is bounded")
                        .untilAsserted(() -> assertThat(bytes(directory)).isLessThan(30L * FILE_BYTES));
            }
            assertThat(load(directory)).isEqualTo(expected);
        }
    }

    @Test
    void aDeadRecordOfWhichOneFileIsGoneAlreadyHarmsNothing(@TempDir Path directory) throws Exception {
        Map<Long, List<Integer>> expected;
        try (Modelled modelled = new Modelled(directory, 1)) {
            long spanning = modelled.add(1_000);
            int before = logs(directory).size();
            // File 1 gets nothing that lives; the record goes on in file 2 with one that does.
            while (logs(directory).size() == before) {
                modelled.update(spanning, 20_000);
                modelled.journal.sync();
            }
            modelled.update(spanning, 1_000);
            modelled.add(1_000);
            modelled.delete(spanning);
            modelled.journal.sync();
            for (int i = 0; i < 200; i++) {
                modelled.delete(modelled.add(20_000));
                modelled.compactAndSync();
            }
            await("the first file is reclaimed")
                    .until(() -> logs(directory).stream().noneMatch(file -> number(file) == 1));
            expected = modelled.contents.live;
        }
        assertThat(load(directory)).isEqualTo(expected).hasSize(1);
    }

    @Test
    void damageOfSyncedRecordsIsRefused(@TempDir Path temp) throws Exception {
        Path sound = temp.resolve("sound");
        int whole;
        try (Modelled modelled = new Modelled(sound, 7)) {
            while (logs(sound).size() < 4) {
                modelled.randomStep(60, 3_000);
                if (modelled.random.nextInt(3) == 0) {
                    modelled.journal.sync();
                }
            }
            for (int i = 0; i < 30; i++) {
                modelled.randomStep(60, 3_000);
            }
            modelled.add(50);
            modelled.journal.sync();
            whole = modelled.contents.live.hashCode();
        }
        assertThat(load(sound).hashCode()).isEqualTo(whole);
        List<Path> files = logs(sound);
        Random random = new Random(11);
        int refused = 0;
        int loaded = 0;
        for (int round = 0; round < 240; round++) {
            int which = random.nextInt(files.size());
            Path file = files.get(which);
            byte[] good = Files.readAllBytes(file);
            int used = good.length;
            while (used > 0 && good[used - 1] == 0) {
                used--;
            }
            byte[] bad = good.clone();
            String damage;
            int kind = round % 4;
            if (kind < 2) {
                int at = random.nextInt(Math.max(64, used));
                bad[at] ^= (byte) (1 << random.nextInt(8));
                damage = "bit at " + at;
            } else if (kind == 2) {
                int from = random.nextInt(Math.max(1, used / 512)) * 512;
                int to = Math.min(bad.length, from + 512 * (1 + random.nextInt(16)));
                Arrays.fill(bad, from, to, (byte) 0);
                damage = "zeros from " + from + " to " + to + " of " + used;
            } else {
                bad = Arrays.copyOf(bad, random.nextInt(bad.length));
                damage = "cut to " + bad.length;
            }
            if (Arrays.equals(good, bad)) {
                continue;
            }
            Path damaged = temp.resolve("damaged" + round);
            copy(sound, damaged);
            Files.write(damaged.resolve(file.getFileName()), bad);
            try {
                int state = load(damaged).hashCode();
                loaded++;
                assertThat(state).as(damage + " in " + file).isEqualTo(whole);
                assertThat(load(damaged).hashCode()).as("again").isEqualTo(state);
            } catch (StoreUnusable e) {
                refused++;
                assertThat(e.getMessage()).doesNotContain("\n").contains("restore");
                assertThat(Files.readAllBytes(damaged.resolve(file.getFileName())))
                        .as("nothing was changed")
                        .isEqualTo(bad);
            }
            deleteAll(damaged);
        }
        assertThat(refused).isGreaterThan(100);
        assertThat(loaded).isGreaterThan(0);
    }

    static void deleteAll(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    @Test
    void aTornNewestRecordIsDroppedAndTheJournalIsUsableAfterIt(@TempDir Path temp) throws Exception {
        for (String kind : List.of("add", "update", "delete")) {
            Path directory = temp.resolve(kind);
            for (int life = 0; life < 4; life++) {
                Contents before = new Contents();
                try (Modelled modelled = new Modelled(directory, life)) {
                    long id = modelled.add(9_000);
                    modelled.journal.sync();
                    byte[] synced = Files.readAllBytes(directory.resolve("synced"));
                    before.live.putAll(modelled.contents.live);
                    before.live.replaceAll((same, parts) -> List.copyOf(parts));
                    switch (kind) {
                        case "add" -> modelled.add(9_000);
                        case "update" -> modelled.update(id, 9_000);
                        default -> modelled.delete(id);
                    }
                    modelled.journal.sync();
                    Files.write(directory.resolve("synced"), synced); // As before the sync that never ended.
                }
                tear(directory, life % 2 == 0 || kind.equals("delete"));
                assertThat(load(directory)).as(kind + " in life " + life).isEqualTo(before.live);
            }
        }
    }

    /** All or part of a batch that was never synced, whatever the number of its records. */
    @Test
    void aTornBatchIsDroppedAndOneThatWasSyncedIsMissed(@TempDir Path temp) throws Exception {
        Path directory = temp.resolve("journal");
        Map<Long, List<Integer>> before;
        byte[] synced;
        long from;
        long to;
        try (Modelled modelled = new Modelled(directory, 3)) {
            for (int i = 0; i < 50; i++) {
                modelled.randomStep(20, 700);
            }
            modelled.journal.sync();
            before = new TreeMap<>(modelled.contents.live);
            before.replaceAll((id, parts) -> List.copyOf(parts));
            synced = Files.readAllBytes(directory.resolve("synced"));
            from = used(logs(directory).get(0));
            for (int i = 0; i < 20; i++) {
                modelled.add(700);
            }
            modelled.journal.sync();
            to = used(logs(directory).get(0));
        }
        Path file = logs(directory).get(0);
        byte[] good = Files.readAllBytes(file);
        byte[] newest = Files.readAllBytes(directory.resolve("synced"));
        for (long keep = from; keep < to; keep += 512) {
            byte[] torn = good.clone();
            Arrays.fill(torn, (int) keep, (int) to, (byte) 0);
            Files.write(file, torn);
            assertThatThrownBy(() -> load(directory))
                    .as("synced, %d of %d", keep, to)
                    .isInstanceOf(StoreUnusable.class)
                    .hasMessageContaining("were synced and are not there");
            assertThat(Files.readAllBytes(file)).as("nothing was changed").isEqualTo(torn);

            Files.write(directory.resolve("synced"), synced);
            assertThat(load(directory)).containsAllEntriesOf(before);
            Files.write(directory.resolve("synced"), newest);
        }
    }

    @Test
    void watermarkIsReplacedAsAWholeByEachProcess(@TempDir Path directory) throws Exception {
        Path synced = directory.resolve("synced");
        try (Modelled modelled = new Modelled(directory, 1)) {
            modelled.add(100);
            modelled.journal.sync();
        }
        Object before = Files.getAttribute(synced, "unix:ino");
        try (Modelled modelled = new Modelled(directory, 2)) {
            modelled.add(100);
            modelled.journal.sync();
        }
        assertThat(new SyncWatermark(directory).read()).isEqualTo(2);
        assertThat(Files.getAttribute(synced, "unix:ino"))
                .as("no write into a file that a power cut may leave empty")
                .isNotEqualTo(before);
        assertThat(Files.getAttribute(synced, "posix:permissions"))
                .isEqualTo(PosixFilePermissions.fromString("rw-------"));
        assertThat(directory.resolve("synced.new")).doesNotExist();
    }

    @Test
    void damagedWatermarkIsRefusedAndNoOlderCopyIsAdvised(@TempDir Path directory) throws Exception {
        Map<Long, List<Integer>> written;
        try (Modelled modelled = new Modelled(directory, 1)) {
            modelled.add(100);
            modelled.journal.sync();
            written = modelled.contents.live;
        }
        Path synced = directory.resolve("synced");
        byte[] bytes = Files.readAllBytes(synced);
        bytes[7]++;
        Files.write(synced, bytes);
        assertThatThrownBy(() -> load(directory))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("remove this file")
                .hasMessageNotContaining("restore");
        Files.delete(synced);
        assertThat(load(directory)).isEqualTo(written);
    }

    private static int used(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        int used = bytes.length;
        while (used > 0 && bytes[used - 1] == 0) {
            used--;
        }
        return used;
    }

    @Test
    void aFileThatIsThereTwiceIsRefused(@TempDir Path directory) throws Exception {
        try (Modelled modelled = new Modelled(directory, 1)) {
            modelled.add(10);
            modelled.journal.sync();
        }
        Files.copy(logs(directory).get(0), directory.resolve("palisade-9.log"));
        assertThatThrownBy(() -> load(directory))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("palisade-9.log")
                .hasMessageContaining("restore the data directory");
    }

    /** Cuts the newest record off in its middle, or blanks the middle of it out. */
    private static void tear(Path directory, boolean cut) throws IOException {
        Path newest = directory;
        int used = 0;
        for (Path file : logs(directory)) {
            byte[] bytes = Files.readAllBytes(file);
            int last = bytes.length;
            while (last > 0 && bytes[last - 1] == 0) {
                last--;
            }
            if (last > RecordFile.FILE_HEADER_BYTES) {
                newest = file;
                used = last;
            }
        }
        byte[] bytes = Files.readAllBytes(newest);
        Arrays.fill(bytes, used - (cut ? 3 : 5_000), cut ? used : used - 200, (byte) 0);
        Files.write(newest, bytes);
    }

    @Test
    void aFailedWriteIsReportedAndSyncNeverReturnsAfterIt(@TempDir Path directory) throws Exception {
        List<String> reported = new ArrayList<>();
        Journal journal = new Journal(directory, FILE_BYTES, Durability.SYNCED, why -> {
            synchronized (reported) {
                reported.add(why);
            }
        });
        journal.load(new Contents());
        journal.add(new byte[100]);
        journal.sync();
        closeUnderneath(journal);
        assertThatThrownBy(() -> {
                    journal.add(new byte[100]);
                    journal.sync();
                })
                .isInstanceOf(IllegalStateException.class);
        synchronized (reported) {
            assertThat(reported).isNotEmpty().allSatisfy(why -> assertThat(why).startsWith("journal"));
        }
        assertThatThrownBy(journal::sync).as("never retried").isInstanceOf(IllegalStateException.class);
    }

    private static void closeUnderneath(Journal journal) throws Exception {
        ((AutoCloseable) field(field(field(journal, "files"), "file"), "channel")).close();
    }

    private static Object field(Object of, String name) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return java.util.Objects.requireNonNull(field.get(of));
    }

    @Test
    void anInterruptedWriterIsAFailureAndNotASuccess(@TempDir Path directory) throws Exception {
        List<String> reported = new ArrayList<>();
        Journal journal = new Journal(directory, FILE_BYTES, Durability.SYNCED, reported::add);
        journal.load(new Contents());
        journal.add(new byte[100]);
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(journal::sync).isInstanceOf(IllegalStateException.class);
        } finally {
            assertThat(Thread.interrupted()).isIn(true, false);
        }
        assertThat(reported).isNotEmpty();
    }
}
