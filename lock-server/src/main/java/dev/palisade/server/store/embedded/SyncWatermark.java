package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Low-water mark of a journal: the position up to which it was certainly synced. Written after each sync and never synced itself, so
 * it may be too low after a power cut and is never too high. With it, a loss of synced records is told from a torn write.
 * Only the first write of a process is synced: without that, a power cut could leave the file empty.
 * Used by one thread at a time.
 */
final class SyncWatermark implements AutoCloseable {
    private static final String NAME = "synced";
    private static final int BYTES = Integer.BYTES + Integer.BYTES + Long.BYTES;

    /** More than any release wrote; a longer file is damaged. */
    private static final int READ_BYTES_MAX = 4096;

    private static final Logger LOG = LoggerFactory.getLogger(SyncWatermark.class);

    private final Path directory;
    private final Path path;
    private @Nullable FileChannel channel;

    /**
     * All records before it were synced.
     *
     * @param file the name of the journal's file
     * @param bytes from the start of that file
     */
    record Position(String file, long bytes) {
        int number() {
            return Integer.parseInt(file.replaceAll("\\D", ""));
        }

        /** Syncs of two threads may end in either order: the further one counts. */
        boolean isAfter(@Nullable Position other) {
            return other == null || number() > other.number() || (number() == other.number() && bytes > other.bytes);
        }
    }

    SyncWatermark(Path directory) {
        this.directory = directory;
        this.path = directory.resolve(NAME);
    }

    /**
     * Empty where none was written yet. Releases that did not sync the first write can have left a file without bytes or of
     * zeros; it says no less than no file does.
     */
    Optional<Position> read() throws IOException, StoreUnusable {
        if (!Files.exists(path)) {
            return Optional.empty();
        }
        ByteBuffer read;
        try (InputStream file = Files.newInputStream(path)) {
            read = ByteBuffer.wrap(file.readNBytes(READ_BYTES_MAX));
        }
        if (isBlank(read)) {
            LOG.warn(
                    "file {} is empty; whether synced records are missing at the journal's end is not checked at this start",
                    path);
            return Optional.empty();
        }
        if (read.remaining() != BYTES || read.getInt() != checksum(read)) {
            throw new StoreUnusable(
                    "file " + path + " is damaged, so a loss of newer records cannot be ruled out; check"
                            + " the disk, then remove this file to start with every record that is there (an older copy of the"
                            + " data directory has fewer)");
        }
        int number = read.getInt();
        return Optional.of(new Position("palisade-" + number + ".log", read.getLong()));
    }

    void write(Position synced) throws IOException {
        FileChannel to = channel;
        if (to == null) {
            create(synced);
            return;
        }
        writeTo(to, synced);
    }

    /** Under its name the file is whole from its first moment on, whatever ends the process or the machine. */
    private void create(Position synced) throws IOException {
        Path fresh = directory.resolve(NAME + ".new");
        Files.deleteIfExists(fresh);
        FileChannel to = FileChannel.open(fresh, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        channel = to;
        OwnerOnly.restrict(fresh);
        writeTo(to, synced);
        to.force(true);
        Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
        try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
            names.force(true);
        }
    }

    private void writeTo(FileChannel to, Position synced) throws IOException {
        ByteBuffer written = ByteBuffer.allocate(BYTES)
                .putInt(0)
                .putInt(synced.number())
                .putLong(synced.bytes())
                .flip();
        written.putInt(0, checksum(written.position(Integer.BYTES)));
        written.position(0);
        // One write of a few bytes: it is there as a whole or not at all.
        if (to.write(written, 0) != BYTES) {
            throw new IOException(path + " was written in part");
        }
    }

    private static boolean isBlank(ByteBuffer read) {
        for (int i = 0; i < read.limit(); i++) {
            if (read.get(i) != 0) {
                return false;
            }
        }
        return true;
    }

    private static int checksum(ByteBuffer rest) {
        CRC32C crc = new CRC32C();
        crc.update(rest.duplicate());
        return (int) crc.getValue();
    }

    @Override
    public void close() throws IOException {
        FileChannel open = channel;
        if (open != null) {
            open.close();
        }
    }
}
