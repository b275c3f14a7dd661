package dev.palisade.guard;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Reads a {@link MarkLog} whole, or says where it is damaged. A record that a crash cut short was never acknowledged and is
 * left out: it is the last one, its final byte is still zero and so is all that follows. Anything else that is not as it
 * was written is damage, also where a crash that wrote its last sectors out of order might explain it: it does not guess.
 */
final class MarkLogReader implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 16;

    private static final byte[] ZEROS = new byte[BUFFER_BYTES];

    private final DataInputStream in;
    private final long size;
    private long position;

    /** What is wrong, and at which byte. */
    static final class DamagedException extends IOException {
        private static final long serialVersionUID = 1L;

        DamagedException(String what, long position) {
            super(what + " at byte " + position);
        }
    }

    private MarkLogReader(Path file) throws IOException {
        this.size = Files.size(file);
        this.in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES));
    }

    /**
     * Applies all that {@code file} holds to {@code marks}.
     *
     * @return the number that the next record has
     * @throws DamagedException when it is not as it was written
     */
    static long read(Path file, Marks marks) throws IOException {
        try (MarkLogReader reader = new MarkLogReader(file)) {
            return reader.read(marks);
        }
    }

    private long read(Marks marks) throws IOException {
        if (size < MarkLog.FILE_HEADER_BYTES) {
            throw new DamagedException("the file ends", size);
        }
        ByteBuffer header = next(MarkLog.FILE_HEADER_BYTES);
        int end = header.limit() - Integer.BYTES;
        if (header.getLong() != MarkLog.MAGIC || header.getInt(end) != MarkLog.crc(header, end)) {
            throw new DamagedException("no header of a mark file", 0);
        }
        if (header.getLong() != size) {
            throw new DamagedException("another length than when it was made, the file ends", size);
        }
        long snapshotEnd = header.getLong();
        long number = header.getLong();
        while (readRecord(number, snapshotEnd, marks)) {
            number++;
        }
        return number;
    }

    /** False: the records end here, in order. */
    private boolean readRecord(long number, long snapshotEnd, Marks marks) throws IOException {
        long start = position;
        boolean mayEnd = start >= snapshotEnd;
        if (size - start < MarkLog.RECORD_HEADER_BYTES) {
            return endsHere(mayEnd, start);
        }
        ByteBuffer header = next(MarkLog.RECORD_HEADER_BYTES);
        int length = header.getInt();
        if (header.getInt(12) != MarkLog.crc(header, 12)) {
            // Zeros, or the beginning of a header and then zeros.
            return endsHere(mayEnd, start);
        }
        if (header.getLong() != number || length < 0 || length + MarkLog.RECORD_TRAILER_BYTES > size - position) {
            throw new DamagedException("a record out of its place", start);
        }
        ByteBuffer record = ByteBuffer.allocate(header.capacity() + length + MarkLog.RECORD_TRAILER_BYTES)
                .put(header.rewind())
                .put(next(length + MarkLog.RECORD_TRAILER_BYTES));
        int trailer = record.position() - MarkLog.RECORD_TRAILER_BYTES;
        byte last = record.get(trailer + Integer.BYTES);
        if (last == 0) {
            return endsHere(mayEnd, start);
        }
        if (last != MarkLog.RECORD_END || record.getInt(trailer) != MarkLog.crc(record, trailer)) {
            throw new DamagedException("a damaged record", start);
        }
        apply(record.array(), trailer, start, marks);
        return true;
    }

    private static void apply(byte[] record, int end, long start, Marks marks) throws DamagedException {
        int from = MarkLog.RECORD_HEADER_BYTES;
        DataInputStream body = new DataInputStream(new ByteArrayInputStream(record, from, end - from));
        try {
            while (body.available() > 0) {
                marks.apply(ChangeCodec.read(body));
            }
        } catch (IOException | RuntimeException e) {
            throw new DamagedException("a record that holds no marks", start);
        }
    }

    /** @return false, when nothing but zeros follows */
    private boolean endsHere(boolean mayEnd, long start) throws IOException {
        boolean zeros = mayEnd;
        byte[] rest = new byte[BUFFER_BYTES];
        for (int read = in.read(rest); zeros && read > 0; read = in.read(rest)) {
            zeros = Arrays.equals(rest, 0, read, ZEROS, 0, read);
        }
        if (!zeros) {
            throw new DamagedException("a damaged record", start);
        }
        return false;
    }

    private ByteBuffer next(int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new DamagedException("the file ends", position + bytes.length);
        }
        position += length;
        return ByteBuffer.wrap(bytes);
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
