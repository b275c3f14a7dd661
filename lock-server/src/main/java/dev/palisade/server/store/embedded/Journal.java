package dev.palisade.server.store.embedded;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.palisade.contract.OwnerOnly;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LogSpace;
import dev.palisade.server.store.log.RecordBatch;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Records on disk: what is written between two syncs is one batch, one write and one sync. An error ends the process: the kernel
 * may have dropped the pages of a failed sync, so none is retried. Used by one thread at a time, which nobody may interrupt.
 */
class Journal implements AutoCloseable {
    private static final int FILE_BYTES = 16 << 20;

    private final Path path;
    private final int fileBytes;
    private final Durability durability;
    private final Consumer<String> fatal;
    private final SyncWatermark watermark;
    private @Nullable JournalFiles files;

    private RecordBatch batch = new RecordBatch();
    private long batchFirstId = 1;
    private long nextId = 1;
    private long oldestId;
    private final LogSpace space = new LogSpace();
    /** Oldest batch that is kept. */
    private long firstBatch = 1;
    /** Whether this batch goes to the disk whatever the durability. */
    private boolean toDisk;

    private boolean broken;

    /**
     * @param fatal ends the process; does not return
     */
    Journal(Path path, Durability durability, Consumer<String> fatal) throws IOException {
        this(path, FILE_BYTES, durability, fatal);
    }

    /** @param fileBytes of each file */
    Journal(Path path, int fileBytes, Durability durability, Consumer<String> fatal) throws IOException {
        this.path = path;
        this.fileBytes = fileBytes;
        this.durability = durability;
        this.fatal = fatal;
        this.watermark = new SyncWatermark(path);
        // The records hold session ids, and a session id is all it takes to act for its owner.
        OwnerOnly.createDirectories(path);
        OwnerOnly.restrict(path);
    }

    /**
     * Reads everything back. Once, first. A newest batch that was cut off in writing was never answered for: it is
     * wiped out, and that is logged. Any other damage is refused, and so is an end that was synced and is gone.
     */
    public void load(FencedLog.Loader loader) throws StoreUnusable {
        try {
            EntryKind.requireFilesIn(path);
            files = JournalFiles.read(path, fileBytes, new Reading(loader, watermark.read()));
        } catch (IOException | RuntimeException e) {
            throw new StoreUnusable(
                    "journal " + path + " cannot be read (" + e + "); restore the data directory from a copy", e);
        }
        try {
            files.begin(firstBatch);
        } catch (IOException e) {
            throw failed(e);
        }
        begin();
    }

    /** Begins a record and returns its id. */
    public long add(byte[] body) {
        batch.put(nextId, 0, body);
        return nextId++;
    }

    public void update(long id, int index, byte[] body) {
        batch.put(id, index, body);
    }

    public void delete(long id) {
        batch.delete(id);
    }

    /** As {@link FencedLog#keepsFrom}. */
    public void keepsFrom(long id) {
        oldestId = id;
    }

    /** As {@link FencedLog#rewritesBelow}. */
    public long rewritesBelow() {
        return space.rewritesBelow(oldestId, nextId);
    }

    /** The next {@link #sync} goes to the disk, whatever the durability. */
    public void syncToDisk() {
        toDisk = true;
    }

    /** Returns when everything written so far is as durable as it is to be. */
    void sync() {
        JournalFiles to = files;
        if (to == null || broken) {
            throw new IllegalStateException(to == null ? "not loaded" : "the process should have ended");
        }
        try {
            if (!batch.isEmpty()) {
                append(to);
            }
            if (durability == Durability.SYNCED || toDisk || to.hasFilesBefore(firstBatch)) {
                to.sync();
                watermark.write(to.nextBatch() - 1);
                toDisk = false;
                to.dropBefore(firstBatch); // Not before: this batch may hold what is rewritten from there.
            }
        } catch (IOException | RuntimeException e) {
            throw failed(e);
        }
        if (Thread.currentThread().isInterrupted()) {
            throw failed(new IOException("the journal's writer was interrupted"));
        }
    }

    private void append(JournalFiles to) throws IOException {
        firstBatch = space.firstKept(firstBatch, oldestId);
        byte[] bytes = batch.bytes(firstBatch);
        long number = to.nextBatch();
        to.append(bytes);
        space.stored(number, batchFirstId, bytes.length);
        space.dropped(firstBatch);
        begin();
    }

    private void begin() {
        batch = new RecordBatch();
        batchFirstId = nextId;
    }

    @Override
    public void close() {
        try {
            if (files != null) {
                files.close();
            }
            watermark.close();
        } catch (IOException e) {
            throw failed(e);
        }
    }

    private IllegalStateException failed(Exception cause) {
        broken = true;
        fatal.accept("journal " + path + ": " + cause);
        return new IllegalStateException("the process should have ended", cause);
    }

    /** Hands the records over, and looks for what is missing. */
    private final class Reading implements JournalFiles.BatchReader {
        private final FencedLog.Loader loader;
        private final long synced;
        private long first;

        /** @param synced number of a batch that was certainly synced, with all before it; 0 if none is known */
        Reading(FencedLog.Loader loader, long synced) {
            this.loader = loader;
            this.synced = synced;
        }

        @Override
        public void batch(long number, ByteBuffer bytes) throws StoreUnusable, IOException {
            first = first == 0 ? number : first;
            long firstId = nextId;
            try {
                RecordBatch.Contents contents = RecordBatch.read(bytes, loader);
                nextId = Math.max(nextId, contents.lastId() + 1);
                firstBatch = contents.firstBatch();
            } catch (InvalidProtocolBufferException e) {
                throw new StoreUnusable(
                        "journal " + path + " has a batch, number " + number
                                + ", that holds no records; restore the data directory from a copy",
                        e);
            }
            space.stored(number, firstId, bytes.limit());
        }

        @Override
        public void end(long nextNumber) throws StoreUnusable {
            if (synced >= nextNumber) {
                throw new StoreUnusable("journal " + path + " is damaged: batches " + nextNumber + " to " + synced
                        + " were synced and are not there; restore the data directory from a copy");
            }
            if (first > firstBatch) {
                throw new StoreUnusable("journal " + path + " is damaged: batches " + firstBatch + " to " + (first - 1)
                        + " are not there; restore the data directory from a copy");
            }
            space.dropped(firstBatch);
        }
    }
}
