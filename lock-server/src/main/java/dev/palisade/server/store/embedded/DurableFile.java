package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.apache.activemq.artemis.api.core.ActiveMQIllegalStateException;
import org.apache.activemq.artemis.core.io.IOCallback;
import org.apache.activemq.artemis.core.io.nio.NIOSequentialFile;
import org.apache.activemq.artemis.core.io.nio.NIOSequentialFileFactory;
import org.apache.activemq.artemis.core.journal.impl.JournalImpl;

/**
 * A new file's name must survive a power cut as well as its content. And the compactor writes whole buffers that still
 * hold parts of the file it wrote before: what follows the last record is blanked, so that {@link JournalCheck} can tell.
 */
final class DurableFile extends NIOSequentialFile {
    private final Path path;
    private final int fileBytes;
    private final ToIntFunction<String> usedBytes;
    private final BooleanSupplier toDisk;
    private final Consumer<SyncWatermark.Position> synced;
    private final Consumer<String> broke;
    private int shownBytes;

    /**
     * @param usedBytes up to where a file of this name is read, once {@link JournalCheck} has left only complete records; all
     *     of it where that is not known
     * @param toDisk whether a sync goes to the disk at this moment
     * @param synced hears up to where a file was synced to the disk
     * @param broke hears of every failure
     */
    DurableFile(
            NIOSequentialFileFactory factory,
            Path path,
            String name,
            int fileBytes,
            ToIntFunction<String> usedBytes,
            BooleanSupplier toDisk,
            Consumer<SyncWatermark.Position> synced,
            Consumer<String> broke) {
        super(factory, path.toFile(), name, 1);
        this.path = path;
        this.fileBytes = fileBytes;
        this.usedBytes = usedBytes;
        this.toDisk = toDisk;
        this.synced = synced;
        this.broke = broke;
    }

    @Override
    public void open(int maxIo, boolean useExecutor) throws IOException {
        super.open(maxIo, useExecutor);
        OwnerOnly.restrict(path.resolve(getFileName()));
        try (FileChannel directory = FileChannel.open(path, StandardOpenOption.READ)) {
            directory.force(true);
        }
    }

    /**
     * The library looks for records at every byte of a file and finds none in zeros: they need not be read. The file is
     * longer in truth, so this is for reading alone.
     */
    void endsAt(int used) {
        shownBytes = withRecordEnd(used);
    }

    @Override
    public long size() throws IOException {
        return shownBytes > 0 ? shownBytes : super.size();
    }

    /** The library wants to be told that it has read all of a file. */
    @Override
    public synchronized int read(ByteBuffer bytes, IOCallback callback)
            throws IOException, ActiveMQIllegalStateException {
        int asked = bytes.remaining();
        if (asked == fileBytes) {
            bytes.limit(bytes.position() + withRecordEnd(usedBytes.applyAsInt(getFileName())));
        }
        int left = asked - bytes.remaining();
        return super.read(bytes, callback) + left;
    }

    /** A record ends with its length, of which the last bytes may be zero. */
    private int withRecordEnd(int used) {
        return Math.min(fileBytes, used + Integer.BYTES - 1);
    }

    /** The library loses some failures here: with a closed channel it writes nothing, syncs nothing and calls it done. */
    @Override
    public void writeDirect(ByteBuffer bytes, boolean sync, IOCallback callback) {
        super.writeDirect(bytes, sync, new IOCallback() {
            @Override
            public void done() {
                callback.done();
            }

            @Override
            public void onError(int code, String message) {
                broke.accept("journal " + getFile() + ": " + message);
                callback.onError(code, message);
            }
        });
    }

    @Override
    public void sync() throws IOException {
        FileChannel open = channel;
        if (open == null || !open.isOpen()) {
            broke.accept("journal " + getFile() + ": closed before it was synced");
            throw new ClosedChannelException();
        }
        if (toDisk.getAsBoolean()) {
            long end = position();
            super.sync();
            if (end > JournalImpl.SIZE_HEADER && getFileName().endsWith(".log")) {
                synced.accept(new SyncWatermark.Position(getFileName(), end));
            }
        }
    }

    @Override
    public void blockingWriteDirect(ByteBuffer bytes, boolean sync, boolean releaseBuffer) throws Exception {
        if (getFileName().endsWith(".cmp") && bytes.position() == 0 && bytes.limit() == fileBytes) {
            blankUnused(bytes);
        }
        super.blockingWriteDirect(bytes, sync, releaseBuffer);
    }

    private static void blankUnused(ByteBuffer bytes) {
        int fileId = (int) bytes.getLong(2 * Integer.BYTES);
        int at = JournalImpl.SIZE_HEADER;
        // Type, file id, times compacted, id, length of the body.
        while (at + 18 <= bytes.limit() && bytes.get(at) != 0 && bytes.getInt(at + 1) == fileId) {
            at += JournalImpl.SIZE_ADD_RECORD + 1 + bytes.getInt(at + 14);
        }
        for (int i = at; i < bytes.limit(); i++) {
            bytes.put(i, (byte) 0);
        }
    }
}
