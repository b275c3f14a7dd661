package dev.palisade.contract.files;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.zip.CRC32C;

/**
 * A file of numbered records, for writing: perhaps a snapshot, then record after record, then zeros up to a length that the
 * header states. A file appears under its name as a whole. Nothing is ever written over, and the file never grows, so {@link RecordFileReader}
 * can tell loss from a last record that a crash cut short.
 *
 * <pre>
 * file    header | records of the snapshot | records | zeros
 * header  kind 8 | length of the file 8 | end of the snapshot 8 | number of the first record, or 0 8 | CRC32C of these 4
 * record  length of the body 4 | number 8 | CRC32C of these 4 | body | CRC32C of all before 4 | 0xA5
 * </pre>
 *
 * All numbers big-endian. Used by one thread at a time. After a failure it must not be used again: the content of the disk is
 * unknown.
 */
public final class RecordFile implements Closeable {
    /** Bytes of a file before its first record. */
    public static final int FILE_HEADER_BYTES = 36;
    /** Bytes of a record before its body. */
    public static final int RECORD_HEADER_BYTES = 16;
    /** Bytes of a record behind its body. */
    public static final int RECORD_TRAILER_BYTES = 5;

    static final byte RECORD_END = (byte) 0xa5;

    /** A longer file than the shortest is three times its snapshot, so that a snapshot is written once for two like it. */
    private static final int LENGTH_TO_SNAPSHOT = 3;

    private static final ByteBuffer ZEROS = ByteBuffer.allocate(1 << 16).asReadOnlyBuffer();

    private final FileChannel channel;
    private long fileBytes;
    /** Of the first byte behind the records. */
    private long end;

    private long nextNumber;

    private RecordFile(FileChannel channel, long fileBytes, long nextNumber) {
        this.channel = channel;
        this.fileBytes = fileBytes;
        this.nextNumber = nextNumber;
    }

    /**
     * Creates a file in place of the one under {@code path}, if any: all of it or none, also after a power cut. Until then it has
     * the name of {@link #halfMade}.
     *
     * @param kind tells files of one use from those of others
     * @param firstNumber of the first record; 0 leaves that to the first {@link #append}
     * @param snapshot bodies of records that are synced with the file
     * @param bytesMin length of the file, at least
     */
    public static RecordFile create(Path path, long kind, long firstNumber, Iterator<byte[]> snapshot, long bytesMin)
            throws IOException {
        Path next = halfMade(path);
        Files.deleteIfExists(next);
        FileChannel channel = FileChannel.open(next, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        try {
            RecordFile file = new RecordFile(channel, 0, firstNumber);
            file.writeAll(kind, firstNumber, snapshot, bytesMin);
            channel.force(true);
            Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
            syncName(path);
            return file;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            Files.deleteIfExists(next); // Else a disk that is full stays so.
            throw e;
        }
    }

    /**
     * Opens a file again that was read, for further records. What is left of a record that was cut short becomes zeros first.
     *
     * @param end where its records end
     */
    public static RecordFile reopen(Path path, RecordFileReader.End end) throws IOException {
        FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE);
        try {
            RecordFile file = new RecordFile(channel, channel.size(), end.nextNumber());
            if (end.torn() > 0) {
                channel.position(end.position());
                file.writeZeros(end.torn());
                channel.force(true);
            }
            channel.position(end.position());
            file.end = end.position();
            return file;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }

    /** Name that a file has until it is whole. */
    public static Path halfMade(Path path) {
        return path.resolveSibling(path.getFileName() + ".new");
    }

    /** Makes the name of {@code path} survive a power cut. */
    public static void syncName(Path path) throws IOException {
        Path directory = path.toAbsolutePath().getParent();
        if (directory != null) {
            syncNames(directory);
        }
    }

    /** Makes the names in {@code directory} survive a power cut. */
    public static void syncNames(Path directory) throws IOException {
        try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
            names.force(true);
        }
    }

    /** Length of a file without a snapshot that has place for one record with a body of {@code bytes}. */
    public static long bytesFor(int bytes) {
        return (long) FILE_HEADER_BYTES + RECORD_HEADER_BYTES + bytes + RECORD_TRAILER_BYTES;
    }

    /** The number that the next record has. */
    public long nextNumber() {
        return nextNumber;
    }

    /** The number that the next record is to have, in a file that has none yet. */
    public void beginAt(long number) {
        nextNumber = number;
    }

    /** Writes a record, all of it or none. False: it does not fit, and nothing was written. */
    public boolean append(byte[] body) throws IOException {
        ByteBuffer record = record(body);
        if (end + record.remaining() > fileBytes) {
            return false;
        }
        end += record.remaining();
        write(record);
        nextNumber++;
        return true;
    }

    /** Returns when what was appended survives a power cut. */
    public void sync() throws IOException {
        channel.force(false);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    private void writeAll(long kind, long firstNumber, Iterator<byte[]> snapshot, long bytesMin) throws IOException {
        write(ByteBuffer.allocate(FILE_HEADER_BYTES));
        while (snapshot.hasNext()) {
            write(record(snapshot.next()));
            nextNumber++;
        }
        end = channel.position();
        boolean hasSnapshot = end > FILE_HEADER_BYTES;
        fileBytes = hasSnapshot ? Math.max(bytesMin, LENGTH_TO_SNAPSHOT * end) : bytesMin;
        writeZeros(fileBytes - end);
        ByteBuffer header = ByteBuffer.allocate(FILE_HEADER_BYTES)
                .putLong(kind)
                .putLong(fileBytes)
                .putLong(end)
                .putLong(firstNumber);
        channel.position(0);
        write(header.putInt(crc(header, header.position())).flip());
        channel.position(end);
    }

    /** The space is taken now, so that a full disk is met here and not in the middle of a record. */
    private void writeZeros(long count) throws IOException {
        for (long left = count; left > 0; left -= ZEROS.capacity()) {
            write(ZEROS.duplicate().limit((int) Math.min(left, ZEROS.capacity())));
        }
    }

    private ByteBuffer record(byte[] body) {
        ByteBuffer bytes = ByteBuffer.allocate(RECORD_HEADER_BYTES + body.length + RECORD_TRAILER_BYTES)
                .putInt(body.length)
                .putLong(nextNumber);
        bytes.putInt(crc(bytes, bytes.position())).put(body);
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
}
