package dev.palisade.guard;

import dev.palisade.contract.files.RecordFile;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * The file of a {@link FileMarkStore}, for writing: a snapshot of all marks, then a record per batch. When its space is used up a
 * new file takes its place. Not safe for threads. After a failure it must not be used again: the content of the disk is unknown.
 */
final class MarkLog implements Closeable {
    static final String FILE = "marks.log";
    /** Its name until it is whole. */
    static final String NEXT_FILE = String.valueOf(RecordFile.halfMade(Path.of(FILE)));

    static final long MAGIC = 0x50414c4d41524b31L; // PALMARK1

    static final int FILE_BYTES_MIN = 1 << 20;
    private static final int SNAPSHOT_RECORD_BYTES = 1 << 16;

    private final RecordFile file;

    private MarkLog(RecordFile file) {
        this.file = file;
    }

    /** Puts a new file with a snapshot of {@code marks} in place of the one in {@code directory}, if any: all of it or none. */
    static MarkLog replace(Path directory, Marks marks, long firstNumber) throws IOException {
        return new MarkLog(
                RecordFile.create(directory.resolve(FILE), MAGIC, firstNumber, new Snapshot(marks), FILE_BYTES_MIN));
    }

    /** The number that the next record has. */
    long nextNumber() {
        return file.nextNumber();
    }

    /** Keeps {@code batch} durably, all of it or none. False: it does not fit and nothing was written. */
    boolean append(List<Change> batch) throws IOException {
        Body body = new Body();
        for (Change change : batch) {
            body.add(change);
        }
        if (!file.append(body.toByteArray())) {
            return false;
        }
        file.sync();
        return true;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }

    /** All marks, some in each record. */
    private static final class Snapshot implements Iterator<byte[]> {
        private final Iterator<Change> changes;

        Snapshot(Marks marks) {
            this.changes = marks.changes().iterator();
        }

        @Override
        public boolean hasNext() {
            return changes.hasNext();
        }

        @Override
        public byte[] next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Body body = new Body();
            while (changes.hasNext() && body.size() < SNAPSHOT_RECORD_BYTES) {
                body.add(changes.next());
            }
            return body.toByteArray();
        }
    }

    private static final class Body extends ByteArrayOutputStream {
        private final DataOutputStream out = new DataOutputStream(this);

        void add(Change change) {
            try {
                ChangeCodec.write(change, out);
            } catch (IOException e) {
                throw new IllegalStateException("writing to memory", e);
            }
        }
    }
}
