package dev.palisade.guard;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The file of a {@link FileMarkStore}, for writing: a snapshot of all marks, then a record per batch, then zeros up to a
 * length that the header states. When the zeros are used up a new file takes its place, by one rename. So nothing is ever
 * written over, the file never grows while it is in use, and {@link MarkLogReader} can tell loss from a torn last record.
 *
 * <pre>
 * file    header | records of the snapshot | records, one per batch | zeros
 * header  magic 8 | length of the file 8 | end of the snapshot 8 | number of the first record 8 | CRC32C of these 4
 * record  length of the body 4 | number 8 | CRC32C of these 4 | body: changes | CRC32C of all before 4 | 0xA5
 * </pre>
 *
 * All numbers big-endian. Not safe for threads. After a failure it must not be used again: nobody knows what is on disk.
 */
final class MarkLog implements Closeable {
    static final String FILE = "marks.log";
    static final String NEXT_FILE = "marks.log.new";
    static final long MAGIC = 0x50414c4d41524b31L; // PALMARK1
    static final int FILE_HEADER_BYTES = 36;
    static final int RECORD_HEADER_BYTES = 16;
    static final int RECORD_TRAILER_BYTES = 5;
    static final byte RECORD_END = (byte) 0xa5;

    /** The shortest file. A longer one is three times its snapshot, so that each mark is rewritten once per mark put. */
    static final int FILE_BYTES_MIN = 1 << 20;

    private static final int SNAPSHOT_RECORD_BYTES = 1 << 16;

    private final FileChannel channel;
    private long fileBytes;
    private long nextNumber;

    private MarkLog(FileChannel channel, long nextNumber) {
        this.channel = channel;
        this.nextNumber = nextNumber;
    }

    /** Puts a new file with a snapshot of {@code marks} in place of the one in {@code directory}, if any: all of it or none. */
    static MarkLog replace(Path directory, Marks marks, long firstNumber) throws IOException {
        Path next = directory.resolve(NEXT_FILE);
        FileChannel channel = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        try {
            MarkLog log = new MarkLog(channel, firstNumber);
            log.writeSnapshot(marks);
            channel.force(true);
            Files.move(next, directory.resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
            sync(directory);
            return log;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    /** Makes the names in {@code directory} survive a power cut. */
    static void sync(Path directory) throws IOException {
        try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
            names.force(true);
        }
    }

    /** The number that the next record has. */
    long nextNumber() {
        return nextNumber;
    }

    /** Keeps {@code batch} durably, all of it or none. False: it does not fit and nothing was written. */
    boolean append(List<Change> batch) throws IOException {
        Body body = new Body();
        for (Change change : batch) {
            body.add(change);
        }
        ByteBuffer bytes = record(body);
        if (channel.position() + bytes.remaining() > fileBytes) {
            return false;
        }
        write(bytes);
        channel.force(false);
        nextNumber++;
        return true;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private void writeSnapshot(Marks marks) throws IOException {
        long firstNumber = nextNumber;
        write(ByteBuffer.allocate(FILE_HEADER_BYTES));
        Body body = new Body();
        for (Change change : marks.changes()) {
            body.add(change);
            if (body.size() >= SNAPSHOT_RECORD_BYTES) {
                write(record(body));
                nextNumber++;
                body.reset();
            }
        }
        if (body.size() > 0) {
            write(record(body));
            nextNumber++;
        }
        long end = channel.position();
        fileBytes = Math.max(FILE_BYTES_MIN, 3 * end);
        writeZeros(fileBytes - end);
        writeHeader(end, firstNumber);
        channel.position(end);
    }

    /** The space is taken now, so that a full disk is met here and not in the middle of a batch. */
    private void writeZeros(long count) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocate(SNAPSHOT_RECORD_BYTES);
        for (long left = count; left > 0; left -= zeros.capacity()) {
            write(zeros.clear().limit((int) Math.min(left, zeros.capacity())));
        }
    }

    private void writeHeader(long snapshotEnd, long firstNumber) throws IOException {
        ByteBuffer header = ByteBuffer.allocate(FILE_HEADER_BYTES)
                .putLong(MAGIC)
                .putLong(fileBytes)
                .putLong(snapshotEnd)
                .putLong(firstNumber);
        header.putInt(crc(header, header.position())).flip();
        channel.position(0);
        write(header);
    }

    private ByteBuffer record(Body body) {
        ByteBuffer bytes = ByteBuffer.allocate(RECORD_HEADER_BYTES + body.size() + RECORD_TRAILER_BYTES)
                .putInt(body.size())
                .putLong(nextNumber);
        bytes.putInt(crc(bytes, bytes.position())).put(body.toByteArray());
        return bytes.putInt(crc(bytes, bytes.position())).put(RECORD_END).flip();
    }

    private void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** Of the first {@code length} bytes. */
    static int crc(ByteBuffer bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.duplicate().position(0).limit(length));
        return (int) crc.getValue();
    }

    private static final class Body extends ByteArrayOutputStream {
        private final DataOutputStream out = new DataOutputStream(this);

        void add(Change change) throws IOException {
            ChangeCodec.write(change, out);
        }
    }
}
