package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.contract.files.RecordFile;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Low-water mark of a journal: the number of a batch that was certainly synced, with all before it. Written after each sync and never
 * synced itself, so it may be too low after a power cut and is never too high. With it, a loss of synced batches is told from a torn
 * write. Only the first write of a process is synced: without that, a power cut could leave the file empty.
 * Used by one thread at a time.
 */
final class SyncWatermark implements AutoCloseable {
    private static final String NAME = "synced";
    private static final int BYTES = Integer.BYTES + Long.BYTES;

    private final Path path;
    private @Nullable FileChannel channel;

    SyncWatermark(Path directory) {
        this.path = directory.resolve(NAME);
    }

    /** 0 where none was written yet. */
    long read() throws IOException, StoreUnusable {
        if (!Files.exists(path)) {
            return 0;
        }
        ByteBuffer read;
        try (InputStream file = Files.newInputStream(path)) {
            read = ByteBuffer.wrap(file.readNBytes(BYTES + 1));
        }
        if (read.remaining() != BYTES || read.getInt() != checksum(read)) {
            throw new StoreUnusable(
                    "file " + path + " is damaged, so a loss of newer records cannot be ruled out; check"
                            + " the disk, then remove this file to start with every record that is there (an older copy of the"
                            + " data directory has fewer)");
        }
        return read.getLong();
    }

    void write(long synced) throws IOException {
        FileChannel to = channel;
        if (to == null) {
            create(synced);
        } else {
            writeTo(to, synced);
        }
    }

    /** Under its name the file is whole from its first moment on, whatever ends the process or the machine. */
    private void create(long synced) throws IOException {
        Path fresh = RecordFile.halfMade(path);
        Files.deleteIfExists(fresh);
        FileChannel to = FileChannel.open(fresh, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        channel = to;
        OwnerOnly.restrict(fresh);
        writeTo(to, synced);
        to.force(true);
        Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
        RecordFile.syncName(path);
    }

    private void writeTo(FileChannel to, long synced) throws IOException {
        ByteBuffer written =
                ByteBuffer.allocate(BYTES).putInt(0).putLong(synced).flip();
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
