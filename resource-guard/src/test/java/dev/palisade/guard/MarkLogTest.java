package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.files.RecordFile;
import dev.palisade.contract.files.RecordFileReader.DamagedException;
import dev.palisade.guard.MarkStore.StoredMark;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damages the file in every way that can be counted, and cuts its last record short at every byte. */
class MarkLogTest {
    @TempDir
    Path directory = Path.of("set by JUnit");

    private final List<Integer> ends = new ArrayList<>();
    private final List<List<Object>> states = new ArrayList<>();
    private Path file = directory;
    private byte[] image = {};

    /** A snapshot of several records and then records of one to three changes; {@link #ends} and {@link #states} after each. */
    @BeforeEach
    void write() throws IOException {
        Marks marks = new Marks();
        marks.apply(new Change.State(true, false));
        marks.apply(new Change.Base(MarkStoreContract.base(9, 90), List.of()));
        for (int i = 1; i <= 200; i++) {
            marks.apply(new Change.Put(MarkStoreContract.mark(longName(i), i)));
        }
        file = directory.resolve(MarkLog.FILE);
        try (MarkLog log = MarkLog.replace(directory, marks, 1)) {
            remember(marks);
            for (int i = 1; i <= 12; i++) {
                List<Change> batch = new ArrayList<>();
                for (int j = 0; j <= i % 3; j++) {
                    batch.add(new Change.Put(MarkStoreContract.mark("r" + j, 1000 + i)));
                }
                if (i % 5 == 0) {
                    batch.add(new Change.Base(MarkStoreContract.base(i, i), List.of("r0", longName(i))));
                }
                batch.forEach(marks::apply);
                assertThat(log.append(batch)).isTrue();
                remember(marks);
            }
        }
        image = Files.readAllBytes(file);
        assertThat(ends.get(0)).as("a snapshot of more than one record").isGreaterThan(1 << 16);
    }

    private static String longName(int i) {
        return i + "-".repeat(200);
    }

    private void remember(Marks marks) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        int end = bytes.length;
        while (bytes[end - 1] == 0) {
            end--;
        }
        ends.add(end);
        states.add(comparable(marks));
    }

    private Marks marks() throws IOException {
        Marks marks = new Marks();
        MarkLogReader.read(file, marks);
        return marks;
    }

    private List<Object> read() throws IOException {
        return comparable(marks());
    }

    static List<Object> comparable(Marks marks) {
        return comparable(marks.kept());
    }

    /** Without the order. */
    static List<Object> comparable(KeptMarks kept) {
        return List.of(kept.complete(), Set.copyOf(kept.marks()), Set.copyOf(kept.bases()));
    }

    private void assertRefused(String what) {
        assertThatThrownBy(this::read).as(what).isInstanceOf(DamagedException.class);
    }

    private void assertReads(int batches) {
        try {
            assertThat(read()).isEqualTo(states.get(batches - 1));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Writes into the file, looks, and mends it again. */
    private void patched(int at, byte[] bytes, Runnable look) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.seek(at);
            open.write(bytes);
            look.run();
            open.seek(at);
            open.write(image, at, bytes.length);
        }
    }

    private int end() {
        return ends.get(ends.size() - 1);
    }

    @Test
    void whatWasWrittenIsReadWhole() throws IOException {
        assertThat(read()).isEqualTo(states.get(states.size() - 1));
    }

    @Test
    void aChangedByteIsNeverTakenForWhatWasWritten() throws IOException {
        Random random = new Random(7);
        int flips = 0;
        for (int at = 0; at < image.length; at += step(at)) {
            int place = at;
            for (int change : List.of(1 << random.nextInt(8), 0xff)) {
                patched(at, new byte[] {(byte) (image[at] ^ change)}, () -> {
                    if (place >= end() && place < end() + RecordFile.RECORD_HEADER_BYTES) {
                        // A header cut short looks like this, and nothing is lost by it.
                        assertReads(states.size());
                    } else {
                        assertRefused("byte " + place + " ^ " + change);
                    }
                });
                flips++;
            }
        }
        assertThat(flips).isGreaterThan(4000);
    }

    /** Every byte of both headers and of all batches, some of the snapshot, some of the zeros. */
    private int step(int at) {
        boolean thoroughly = at < 300 || (at >= ends.get(0) - 300 && at < end() + 40);
        return thoroughly ? 1 : 997;
    }

    @Test
    void anotherLengthIsRefused() throws IOException {
        for (int length = image.length - 1; length >= 0; length -= length > end() || length < ends.get(0) ? 4099 : 1) {
            try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
                open.setLength(length);
            }
            assertRefused("cut to " + length);
        }
        Files.write(file, Arrays.copyOf(image, 0));
        assertRefused("empty");
        Files.write(file, Arrays.copyOf(image, image.length + 1));
        assertRefused("longer");
    }

    @Test
    void aRecordCutShortAtAnyByteIsLeftOutAndNothingElse() throws IOException {
        for (int cut = ends.get(0); cut <= end(); cut++) {
            byte[] zeros = new byte[end() - cut];
            int place = cut;
            int batches = (int) ends.stream().filter(end -> end <= place).count();
            patched(cut, zeros, () -> assertReads(batches));
        }
    }

    @Test
    void aSnapshotThatLacksItsEndIsRefused() throws IOException {
        for (int cut = 0; cut < ends.get(0); cut += 257) {
            int place = cut;
            patched(cut, new byte[end() - cut], () -> assertRefused("zeros from " + place));
        }
    }

    @Test
    void aHoleOfZerosBeforeTheLastRecordIsRefused() throws IOException {
        int lastStart = ends.get(ends.size() - 2);
        for (int at = 0; at + 512 <= lastStart; at += 512) {
            int place = at;
            patched(at, new byte[512], () -> assertRefused("zeros at " + place));
        }
    }

    @Test
    void aRecordOutOfItsPlaceIsRefused() throws IOException {
        int second = ends.get(1);
        byte[] record = Arrays.copyOfRange(image, second, ends.get(2));
        patched(end(), record, () -> assertRefused("a record that comes again"));
        // The fourth is as long as the first: in its place every checksum is right, its number is not.
        byte[] fourth = Arrays.copyOfRange(image, ends.get(3), ends.get(4));
        assertThat(fourth).hasSize(ends.get(1) - ends.get(0));
        patched(ends.get(0), fourth, () -> assertRefused("a record in another's place"));
    }

    /** A crash while the next file was written, at any of its bytes, before it was renamed. */
    @Test
    void aNextFileThatWasNotFinishedIsIgnored() throws IOException {
        Path next = directory.resolve(MarkLog.NEXT_FILE);
        for (int length : List.of(0, 1, 100, end(), image.length)) {
            Files.write(next, Arrays.copyOf(image, length));
            try (MarkStore store = MarkStore.file(directory)) {
                assertThat(comparable(store.open())).isEqualTo(states.get(states.size() - 1));
            }
            assertThat(next).doesNotExist();
        }
    }

    /** What follows a record that was cut short must not stand behind it. */
    @Test
    void afterACutRecordTheStoreGoesOn() throws Exception {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.seek(end() - 9);
            open.write(new byte[9]);
        }
        List<StoredMark> before = marks().kept().marks();
        for (int i = 1; i <= 3; i++) {
            try (MarkStore store = MarkStore.file(directory)) {
                store.open();
                MarkStoreContract.await(store.put(MarkStoreContract.mark("after " + i, i)));
            }
        }
        assertThat(before).contains(MarkStoreContract.mark("r1", 1011));
        assertThat(marks().kept().marks())
                .containsAll(before)
                .contains(MarkStoreContract.mark("after 1", 1), MarkStoreContract.mark("after 3", 3));
    }
}
