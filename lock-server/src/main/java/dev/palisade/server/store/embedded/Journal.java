package dev.palisade.server.store.embedded;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.apache.activemq.artemis.core.io.IOCriticalErrorListener;
import org.apache.activemq.artemis.core.io.SequentialFile;
import org.apache.activemq.artemis.core.io.nio.NIOSequentialFile;
import org.apache.activemq.artemis.core.io.nio.NIOSequentialFileFactory;
import org.apache.activemq.artemis.core.journal.EncoderPersister;
import org.apache.activemq.artemis.core.journal.IOCompletion;
import org.apache.activemq.artemis.core.journal.LoaderCallback;
import org.apache.activemq.artemis.core.journal.PreparedTransactionInfo;
import org.apache.activemq.artemis.core.journal.RecordInfo;
import org.apache.activemq.artemis.core.journal.impl.JournalFile;
import org.apache.activemq.artemis.core.journal.impl.JournalImpl;
import org.apache.activemq.artemis.core.journal.impl.JournalReaderCallbackAbstract;
import org.apache.activemq.artemis.core.journal.impl.dataformat.ByteArrayEncoding;
import org.apache.activemq.artemis.utils.actors.ArtemisExecutor;
import org.apache.activemq.artemis.utils.actors.OrderedExecutorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Records on disk, by Artemis' journal: each has an id, may be updated and is deleted at the end; the library reclaims
 * and compacts the files. This class adds what that journal leaves to its user: a checksum and a place in the order for
 * every record, a look for holes before loading, and that every I/O error ends the process (an error in a sync must
 * never be retried: the kernel may have dropped the pages). Used by one thread, which nobody may interrupt.
 */
final class Journal implements AutoCloseable {
    private static final int FILE_BYTES = 16 << 20;
    private static final int BUFFER_BYTES = 4 << 20;
    /** The timer that the library flushes by when nobody else does. We flush at the end of each batch. */
    private static final int BUFFER_TIMEOUT_NANOS = 100_000_000;

    private static final byte RECORD = 1;
    /** CRC32C, id, index. */
    private static final int HEADER_BYTES = 4 + 8 + 4;

    private final Path path;
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

    /** What was found on disk, in the order in which it was written. */
    interface Loader {
        /** @param index 0 for the add, counted up with each update */
        void record(long id, int index, ByteBuffer body) throws StoreUnusable;

        void deleted(long id);

        /** The newest record was cut off in writing, so it was never answered for: it is to be replaced or deleted. */
        void torn(long id, boolean update);
    }

    /**
     * @param fatal ends the process; does not return
     */
    Journal(Path path, Consumer<String> fatal) throws IOException {
        this.path = path;
        this.fatal = fatal;
        this.batch = new Batch();
        Files.createDirectories(path);
        IOCriticalErrorListener onError =
                (cause, message, file) -> fatal.accept("journal " + file + ": " + message + ", " + cause);
        this.files =
                new NIOSequentialFileFactory(
                        path.toFile(), true, BUFFER_BYTES, BUFFER_TIMEOUT_NANOS, 1, false, onError, null) {
                    @Override
                    public SequentialFile createSequentialFile(String name) {
                        return new DurableNameFile(this, name);
                    }
                };
        OrderedExecutorFactory ordered = new OrderedExecutorFactory(background);
        int[] asked = {0};
        // The library asks for executors for: files, compactor, appends. Appends run on our thread: no hop per record.
        this.journal = new JournalImpl(
                () -> ++asked[0] == 3 ? ArtemisExecutor.delegate(Runnable::run) : ordered.getExecutor(),
                FILE_BYTES,
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

    /** Reads everything back. Once, first. */
    void load(Loader loader) throws StoreUnusable {
        try {
            refuseHoles();
            journal.start();
            Reading reading = new Reading(loader);
            nextId = journal.load(reading).getMaxID() + 1;
            reading.finish();
        } catch (StoreUnusable e) {
            throw e;
        } catch (Exception e) {
            throw new StoreUnusable(
                    "journal " + path + " cannot be read (" + e + "); restore the data directory from a copy", e);
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
        } catch (Exception e) {
            throw failed(e);
        }
    }

    /** Returns when everything appended so far is on disk. */
    void sync() {
        try {
            files.flush();
            batch.await();
        } catch (Exception e) {
            throw failed(e);
        }
        if (Thread.currentThread().isInterrupted()) {
            // The library takes an interrupt for success.
            throw failed(new InterruptedException("the journal's writer was interrupted"));
        }
        batch = new Batch();
    }

    @Override
    public void close() {
        try {
            journal.stop();
        } catch (Exception e) {
            throw failed(e);
        } finally {
            background.shutdown();
        }
    }

    private IllegalStateException failed(Exception cause) {
        fatal.accept("journal " + path + ": " + cause);
        return new IllegalStateException("the process should have ended", cause);
    }

    private static ByteArrayEncoding pack(long id, int index, byte[] body) {
        ByteBuffer record = ByteBuffer.allocate(HEADER_BYTES + body.length)
                .putInt(0)
                .putLong(id)
                .putInt(index)
                .put(body);
        return new ByteArrayEncoding(record.putInt(0, checksum(record.array())).array());
    }

    private static int checksum(byte[] record) {
        CRC32C crc = new CRC32C();
        crc.update(record, 4, record.length - 4);
        return (int) crc.getValue();
    }

    /** The library skips what it cannot read. Files have one size and records leave no gaps, so what was skipped shows. */
    private void refuseHoles() throws Exception {
        for (JournalFile file : journal.orderFiles()) {
            String name = file.getFile().getFileName();
            if (file.getFile().getJavaFile().length() != FILE_BYTES) {
                throw new StoreUnusable("journal file " + path.resolve(name) + " has "
                        + file.getFile().getJavaFile().length() + " bytes, not " + FILE_BYTES
                        + ": it was cut; restore the data directory from a copy");
            }
            Sizes sizes = new Sizes();
            int end = JournalImpl.readJournalFile(files, file, sizes);
            if (end - JournalImpl.SIZE_HEADER != sizes.bytes) {
                throw new StoreUnusable("journal file " + path.resolve(name)
                        + " has unreadable bytes in its middle; restore the data directory from a copy");
            }
        }
    }

    private static final class Sizes extends JournalReaderCallbackAbstract {
        long bytes;

        @Override
        public void onReadAddRecord(RecordInfo record) {
            bytes += JournalImpl.SIZE_ADD_RECORD + 1L + record.data.length;
        }

        @Override
        public void onReadUpdateRecord(RecordInfo record) {
            onReadAddRecord(record);
        }

        @Override
        public void onReadDeleteRecord(long id) {
            bytes += JournalImpl.SIZE_DELETE_RECORD + 1L;
        }
    }

    /** Checks each record as the library hands it over. Only the very last may be bad: it was being written. */
    private static final class Reading implements LoaderCallback {
        private final Loader loader;
        private @Nullable RecordInfo torn;
        private @Nullable StoreUnusable refused;

        Reading(Loader loader) {
            this.loader = loader;
        }

        @Override
        public void addRecord(RecordInfo record) {
            if (refused != null) {
                return;
            }
            if (torn != null) {
                refused = new StoreUnusable("journal record " + torn.id
                        + " is damaged and not the last one; restore the data directory from a copy");
                return;
            }
            ByteBuffer data = ByteBuffer.wrap(record.data);
            if (data.remaining() < HEADER_BYTES
                    || data.getInt() != checksum(record.data)
                    || data.getLong() != record.id) {
                torn = record;
                return;
            }
            try {
                loader.record(record.id, data.getInt(), data);
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
            if (torn != null) {
                loader.torn(torn.id, torn.isUpdate);
            }
        }
    }

    /** A new file's name must survive a power cut as well as its content. */
    private final class DurableNameFile extends NIOSequentialFile {
        DurableNameFile(NIOSequentialFileFactory factory, String name) {
            super(factory, path.toFile(), name, 1);
        }

        @Override
        public void open(int maxIo, boolean useExecutor) throws IOException {
            super.open(maxIo, useExecutor);
            try (FileChannel directory = FileChannel.open(path, StandardOpenOption.READ)) {
                directory.force(true);
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
            fatal.accept("journal " + path + ": " + message);
        }

        synchronized void await() throws InterruptedException {
            while (done < wanted) {
                wait();
            }
        }
    }
}
