package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.activemq.artemis.core.io.IOCriticalErrorListener;
import org.apache.activemq.artemis.core.io.SequentialFile;
import org.apache.activemq.artemis.core.io.nio.NIOSequentialFileFactory;
import org.apache.activemq.artemis.core.journal.EncoderPersister;
import org.apache.activemq.artemis.core.journal.IOCompletion;
import org.apache.activemq.artemis.core.journal.LoaderCallback;
import org.apache.activemq.artemis.core.journal.PreparedTransactionInfo;
import org.apache.activemq.artemis.core.journal.RecordInfo;
import org.apache.activemq.artemis.core.journal.impl.JournalImpl;
import org.apache.activemq.artemis.core.journal.impl.dataformat.ByteArrayEncoding;
import org.apache.activemq.artemis.utils.actors.ArtemisExecutor;
import org.apache.activemq.artemis.utils.actors.OrderedExecutorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Records on disk, by Artemis' journal: each has an id, may be updated and is deleted at the end; the library reclaims
 * and compacts the files. This class adds what that journal leaves to its user: a checksum and a place in the order for
 * every record, a look for holes before loading, and that every I/O error ends the process (an error in a sync must
 * never be retried: the kernel may have dropped the pages). Used by one thread at a
 * time, which nobody may interrupt.
 */
final class Journal implements AutoCloseable {
    private static final int FILE_BYTES = 16 << 20;
    /** The timer that the library flushes by when nobody else does. We flush at the end of each batch. */
    private static final int BUFFER_TIMEOUT_NANOS = 100_000_000;

    static final byte RECORD = 1;
    /** CRC32C of the rest, id, index, checksum of the deletes since the record before. */
    static final int HEADER_BYTES = 4 + 8 + 4 + 4;

    private final Path path;
    private final int fileBytes;
    private final Consumer<String> fatal;
    private final NIOSequentialFileFactory files;
    private final JournalImpl journal;
    private final ExecutorService background = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "palisade-journal-files");
        thread.setDaemon(true);
        return thread;
    });
    private Batch batch;
    private long nextId = 1;
    /** The library's deletes carry no checksum: each record vouches for those between it and the one before. */
    private int deletes;

    /** Of the files that are read at the start, once they are known to be whole. */
    private volatile Map<String, Integer> usedBytes = Map.of();
    /** Whether this batch goes to the disk whatever the durability. */
    private volatile boolean toDisk;
    /** Of this batch, as far as it went to the disk. */
    private SyncWatermark.@Nullable Position synced;

    private final SyncWatermark watermark;

    private volatile boolean broken;

    /**
     * @param fatal ends the process; does not return
     */
    Journal(Path path, Durability durability, Consumer<String> fatal) throws IOException {
        this(path, FILE_BYTES, durability, fatal);
    }

    /** @param fileBytes of each file; a record can have a quarter of it */
    Journal(Path path, int fileBytes, Durability durability, Consumer<String> fatal) throws IOException {
        this.path = path;
        this.fileBytes = fileBytes;
        this.fatal = fatal;
        this.batch = new Batch();
        this.watermark = new SyncWatermark(path);
        // The records hold session ids, and a session id is all it takes to act for its owner.
        OwnerOnly.createDirectories(path);
        OwnerOnly.restrict(path);
        IOCriticalErrorListener onError = (cause, message, file) -> broke("journal " + (file == null ? path : file)
                + ": " + message + (cause == null ? "" : " (" + cause.getMessage() + ")"));
        this.files = new JournalFileFactory(path.toFile(), fileBytes / 4, BUFFER_TIMEOUT_NANOS, onError) {
            @Override
            public SequentialFile createSequentialFile(String name) {
                return new DurableFile(
                        this,
                        path,
                        name,
                        fileBytes,
                        file -> usedBytes.getOrDefault(file, fileBytes),
                        () -> durability == Durability.SYNCED || toDisk,
                        Journal.this::syncedUpTo,
                        Journal.this::broke);
            }
        };
        OrderedExecutorFactory ordered = new OrderedExecutorFactory(background);
        int[] asked = {0};
        // The library asks for executors for: files, compactor, appends. Appends run on our thread: no hop per record.
        this.journal = new JournalImpl(
                () -> ++asked[0] == 3 ? ArtemisExecutor.delegate(Runnable::run) : ordered.getExecutor(),
                fileBytes,
                2,
                0, // No file is used twice: stale bytes of an earlier life can complete a torn record.
                10,
                30,
                5,
                files,
                "palisade",
                "log",
                1,
                0,
                onError,
                1_000);
    }

    /**
     * Reads everything back. Once, first. A newest record that was cut off in writing was never answered for: it is
     * wiped out, and that is logged. Any other damage is refused, and so is an end that was synced and is gone.
     */
    void load(FencedLog.Loader loader) throws StoreUnusable {
        try {
            EntryKind.requireFilesIn(path);
            makeDurable();
            JournalCheck check = new JournalCheck(path, fileBytes, files);
            deletes = check.run(journal.orderFiles(), watermark.read());
            usedBytes = check.usedBytes();
            journal.start();
            Reading reading = new Reading(loader);
            nextId = Math.max(1, journal.load(reading).getMaxID() + 1); // 0 stands for no record.
            usedBytes = Map.of(); // From here on they grow.
            reading.finish();
        } catch (StoreUnusable e) {
            throw e;
        } catch (Exception e) {
            throw new StoreUnusable(
                    "journal " + path + " cannot be read (" + e + "); restore the data directory from a copy", e);
        }
    }

    /**
     * What a killed process wrote and did not sync is read back all the same, from the kernel's memory. It must not be acted
     * upon and then be lost by a power cut, so it is made durable first.
     */
    private void makeDurable() throws IOException {
        try (Stream<Path> entries = Files.list(path)) {
            for (Path file : entries.filter(Files::isRegularFile).toList()) {
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.force(true);
                }
            }
        }
        try (FileChannel names = FileChannel.open(path, StandardOpenOption.READ)) {
            names.force(true);
        }
    }

    /** Begins a record and returns its id. */
    long add(byte[] body) {
        long id = nextId++;
        try {
            journal.appendAddRecord(id, RECORD, EncoderPersister.getInstance(), pack(id, 0, body), true, batch);
        } catch (Exception e) {
            throw failed(e);
        }
        return id;
    }

    void update(long id, int index, byte[] body) {
        try {
            journal.appendUpdateRecord(id, RECORD, EncoderPersister.getInstance(), pack(id, index, body), true, batch);
        } catch (Exception e) {
            throw failed(e);
        }
    }

    void delete(long id) {
        try {
            journal.appendDeleteRecord(id, true, batch);
            deletes = withDelete(deletes, id);
        } catch (Exception e) {
            throw failed(e);
        }
    }

    /** From the library's own timer as well, which flushes when a batch takes long. */
    private synchronized void syncedUpTo(SyncWatermark.Position position) {
        if (position.isAfter(synced)) {
            synced = position;
        }
    }

    private synchronized SyncWatermark.@Nullable Position takeSynced() {
        SyncWatermark.Position taken = synced;
        synced = null;
        return taken;
    }

    /** The next {@link #sync} goes to the disk, whatever the durability. */
    void syncToDisk() {
        toDisk = true;
    }

    /** Returns when everything appended so far is as durable as it is to be. */
    void sync() {
        try {
            files.flush();
            batch.await();
            SyncWatermark.Position end = takeSynced();
            if (end != null && !broken) {
                watermark.write(end);
            }
        } catch (Exception e) {
            throw failed(e);
        }
        if (Thread.currentThread().isInterrupted()) {
            // The library takes an interrupt for success.
            throw failed(new InterruptedException("the journal's writer was interrupted"));
        }
        if (broken) {
            // The library reports a failed write as done, after it has reported the failure.
            throw new IllegalStateException("the process should have ended");
        }
        toDisk = false;
        batch = new Batch();
    }

    @Override
    public void close() {
        try {
            journal.stop();
            watermark.close();
        } catch (Exception e) {
            throw failed(e);
        } finally {
            background.shutdown();
        }
    }

    private IllegalStateException failed(Exception cause) {
        broke("journal " + path + ": " + cause);
        return new IllegalStateException("the process should have ended", cause);
    }

    private void broke(String why) {
        broken = true;
        fatal.accept(why);
    }

    private ByteArrayEncoding pack(long id, int index, byte[] body) {
        ByteBuffer record = ByteBuffer.allocate(HEADER_BYTES + body.length)
                .putInt(0)
                .putLong(id)
                .putInt(index)
                .putInt(deletes)
                .put(body);
        deletes = 0;
        return new ByteArrayEncoding(record.putInt(0, checksum(record.array())).array());
    }

    static int checksum(byte[] record) {
        CRC32C crc = new CRC32C();
        crc.update(record, 4, record.length - 4);
        return (int) crc.getValue();
    }

    static int withDelete(int deletes, long id) {
        CRC32C crc = new CRC32C();
        crc.update(ByteBuffer.allocate(12).putInt(deletes).putLong(id).flip());
        return (int) crc.getValue();
    }

    /** Hands the checked records over. */
    private static final class Reading implements LoaderCallback {
        private final FencedLog.Loader loader;
        private @Nullable StoreUnusable refused;

        Reading(FencedLog.Loader loader) {
            this.loader = loader;
        }

        @Override
        public void addRecord(RecordInfo record) {
            if (refused != null) {
                return;
            }
            ByteBuffer data = ByteBuffer.wrap(record.data);
            int index = data.getInt(4 + 8);
            try {
                loader.record(record.id, index, data.position(HEADER_BYTES));
            } catch (StoreUnusable e) {
                refused = e;
            }
        }

        @Override
        public void updateRecord(RecordInfo record) {
            addRecord(record);
        }

        @Override
        public void deleteRecord(long id) {
            loader.deleted(id);
        }

        @Override
        public void addPreparedTransaction(PreparedTransactionInfo transaction) {
            refused = new StoreUnusable("the journal holds a transaction, which this release never writes");
        }

        @Override
        public void failedTransaction(long id, List<RecordInfo> records, List<RecordInfo> deletes) {
            refused = new StoreUnusable("the journal holds a transaction, which this release never writes");
        }

        void finish() throws StoreUnusable {
            if (refused != null) {
                throw refused;
            }
        }
    }

    /** Counts the appends of one batch down. An error never reaches {@code done} as success: the process ends first. */
    private final class Batch implements IOCompletion {
        private int wanted;
        private int done;

        @Override
        public synchronized void storeLineUp() {
            wanted++;
        }

        @Override
        public synchronized void done() {
            done++;
            if (done == wanted) {
                notifyAll();
            }
        }

        @Override
        public void onError(int code, String message) {
            broke("journal " + path + ": " + message);
        }

        synchronized void await() throws InterruptedException {
            while (done < wanted && !broken) { // Some failed writes are reported to the factory only.
                wait(1_000);
            }
        }
    }
}
