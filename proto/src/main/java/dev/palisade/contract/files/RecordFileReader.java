package dev.palisade.contract.files;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Reads a {@link RecordFile} whole, or says where it is damaged. A record that a crash cut short was never acknowledged and is
 * left out: it is the last one, its final byte is still zero and so is all that follows. Anything else that is not as it
 * was written is damage, also where a crash that wrote its last sectors out of order might explain it: it does not guess.
 * A caller that knows by other means what was synced may let all count as cut short that no later record follows.
 */
public final class RecordFileReader implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 16;

    private static final byte[] ZEROS = new byte[BUFFER_BYTES];

    private final Path file;
    private final DataInputStream in;
    private final long size;
    private final boolean knowsSynced;
    private long position;
    private long torn;

    /**
     * Receives the records of a file, in their order.
     *
     * @param <X> by which a reader refuses a record
     */
    public interface Records<X extends Exception> {
        /**
         * @param start byte of the file where the record begins, for messages
         * @throws DamagedException when it is not what the caller writes
         */
        void record(long number, ByteBuffer body, long start) throws IOException, X;
    }

    /**
     * End of the records of a file.
     *
     * @param position of the first byte behind them
     * @param nextNumber that the next record has; what was expected if the file has none
     * @param torn how many bytes of a record that was cut short are behind it, up to the last that is not zero
     */
    public record End(long position, long nextNumber, long torn) {}

    /** What is wrong, and at which byte. */
    public static final class DamagedException extends IOException {
        private static final long serialVersionUID = 1L;

        public DamagedException(String what, long position) {
            super(what + " at byte " + position);
        }
    }

    private RecordFileReader(Path file, boolean knowsSynced) throws IOException {
        this.file = file;
        this.knowsSynced = knowsSynced;
        this.size = Files.size(file);
        this.in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES));
    }

    /**
     * Hands over all that {@code file} holds. Blocks; changes nothing.
     *
     * @param kind that the file was created with
     * @param expected number of the first record, where the file does not state it; 0 for any
     * @param knowsSynced whether the caller knows which records were synced before: then a last record that is damaged anywhere counts as
     *     cut short
     * @throws DamagedException when it is not as it was written
     */
    public static <X extends Exception> End read(
            Path file, long kind, long expected, boolean knowsSynced, Records<X> records) throws IOException, X {
        try (RecordFileReader reader = new RecordFileReader(file, knowsSynced)) {
            return reader.read(kind, expected, records);
        }
    }

    private <X extends Exception> End read(long kind, long expected, Records<X> records) throws IOException, X {
        if (size < RecordFile.FILE_HEADER_BYTES) {
            throw new DamagedException("the file ends", size);
        }
        ByteBuffer header = next(RecordFile.FILE_HEADER_BYTES);
        int end = header.limit() - Integer.BYTES;
        if (header.getLong() != kind || header.getInt(end) != RecordFile.crc(header, end)) {
            throw new DamagedException("no header of such a file", 0);
        }
        if (header.getLong() != size) {
            throw new DamagedException("the file was cut or has grown, it ends", size);
        }
        long snapshotEnd = header.getLong();
        long stated = header.getLong();
        long number = stated == 0 ? expected : stated;
        long read = position;
        for (long next = readRecord(number, snapshotEnd, records);
                next != 0;
                next = readRecord(number, snapshotEnd, records)) {
            number = next;
            read = position;
        }
        return new End(read, number, torn);
    }

    /**
     * @param number that the record should have; 0 for any
     * @return the number that the next should have; 0 where the records end, in order
     */
    private <X extends Exception> long readRecord(long number, long snapshotEnd, Records<X> records)
            throws IOException, X {
        long start = position;
        boolean mayEnd = start >= snapshotEnd;
        if (size - start < RecordFile.RECORD_HEADER_BYTES) {
            return endsHere(mayEnd, start, number, ByteBuffer.allocate(0));
        }
        ByteBuffer header = next(RecordFile.RECORD_HEADER_BYTES);
        int length = header.getInt();
        if (header.getInt(12) != RecordFile.crc(header, 12)) {
            // Zeros, or the beginning of a header and then zeros.
            return endsHere(mayEnd, start, number, header);
        }
        long found = header.getLong();
        if ((number != 0 && found != number) || !fits(length, position)) {
            throw new DamagedException("a record out of its place", start);
        }
        ByteBuffer record = ByteBuffer.allocate(header.capacity() + length + RecordFile.RECORD_TRAILER_BYTES)
                .put(header.rewind())
                .put(next(length + RecordFile.RECORD_TRAILER_BYTES));
        int trailer = record.position() - RecordFile.RECORD_TRAILER_BYTES;
        byte last = record.get(trailer + Integer.BYTES);
        boolean whole = last == RecordFile.RECORD_END && record.getInt(trailer) == RecordFile.crc(record, trailer);
        if (!whole && (last == 0 || knowsSynced)) {
            return endsHere(mayEnd, start, number, record);
        }
        if (!whole) {
            throw new DamagedException("a damaged record", start);
        }
        records.record(
                found,
                record.position(RecordFile.RECORD_HEADER_BYTES)
                        .limit(trailer)
                        .slice()
                        .asReadOnlyBuffer(),
                start);
        return found + 1;
    }

    private boolean fits(int length, long from) {
        return length >= 0 && length <= size - from - RecordFile.RECORD_TRAILER_BYTES;
    }

    /**
     * @param number that the record should have; 0 for any
     * @param begun what may be the beginning of a record that was cut short
     * @return 0, when nothing follows that was written after it
     */
    private long endsHere(boolean mayEnd, long start, long number, ByteBuffer begun) throws IOException {
        boolean ends = mayEnd && isZeroToTheEnd();
        torn = ends ? used(bytes(begun)) : 0;
        if (!ends && mayEnd && knowsSynced) {
            byte[] rest = rest(start);
            torn = used(rest);
            ends = !isFollowed(number, start, ByteBuffer.wrap(rest));
        }
        if (!ends) {
            throw new DamagedException("a damaged record", start);
        }
        return 0;
    }

    private byte[] rest(long start) throws IOException {
        try (InputStream again = Files.newInputStream(file)) {
            again.skipNBytes(start);
            return again.readAllBytes();
        }
    }

    private boolean isZeroToTheEnd() throws IOException {
        byte[] rest = new byte[BUFFER_BYTES];
        boolean zeros = true;
        for (int read = in.read(rest); zeros && read > 0; read = in.read(rest)) {
            zeros = Arrays.equals(rest, 0, read, ZEROS, 0, read);
        }
        return zeros;
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.capacity()];
        buffer.duplicate().clear().get(bytes);
        return bytes;
    }

    /** Up to the last byte that is not zero. */
    private static int used(byte[] bytes) {
        int used = bytes.length;
        while (used > 0 && bytes[used - 1] == 0) {
            used--;
        }
        return used;
    }

    /** Whether a record was written behind the damaged one: then that one was synced before. */
    private boolean isFollowed(long number, long start, ByteBuffer rest) {
        for (int at = 1; at + RecordFile.RECORD_HEADER_BYTES <= rest.capacity(); at++) {
            long found = rest.getLong(at + 4);
            boolean mayFollow = found > number && found <= number + size && fits(rest.getInt(at), start + at);
            if (mayFollow) {
                ByteBuffer header = rest.slice(at, RecordFile.RECORD_HEADER_BYTES);
                if (header.getInt(12) == RecordFile.crc(header, 12)) {
                    return true;
                }
            }
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
