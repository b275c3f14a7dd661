package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Low-water mark of a journal: the position up to which it was certainly synced. Written after each sync and never synced itself, so
 * it may be too low after a power cut and is never too high. With it, a loss of synced records is told from a torn write.
 * Used by one thread at a time.
 */
final class SyncWatermark implements AutoCloseable {
    private static final String NAME = "synced";
    private static final int BYTES = Integer.BYTES + Integer.BYTES + Long.BYTES;

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
        this.path = directory.resolve(NAME);
    }

    /** Empty where none was written yet. */
    Optional<Position> read() throws IOException, StoreUnusable {
        if (!Files.exists(path)) {
            return Optional.empty();
        }
        ByteBuffer read = ByteBuffer.wrap(Files.readAllBytes(path));
        if (read.remaining() != BYTES || read.getInt() != checksum(read)) {
            throw new StoreUnusable("file " + path + " is damaged; restore the data directory from a copy");
        }
        int number = read.getInt();
        return Optional.of(new Position("palisade-" + number + ".log", read.getLong()));
    }

    void write(Position synced) throws IOException {
        FileChannel to = channel;
        if (to == null) {
            to = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            channel = to;
            OwnerOnly.restrict(path);
        }
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
