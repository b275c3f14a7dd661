package dev.palisade.server.store.embedded;

import dev.palisade.contract.OwnerOnly;
import dev.palisade.contract.files.RecordFile;
import dev.palisade.contract.files.RecordFileReader;
import dev.palisade.contract.files.RecordFileReader.DamagedException;
import dev.palisade.server.store.StoreUnusable;
import java.io.Closeable;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Numbered batches in {@linkplain RecordFile files} of one length, {@code palisade-1.log} and so on. Each file goes on with the numbers of the one
 * before, so that none can be missing or exchanged. The next file is made while one is in use, and old ones are deleted, by a
 * thread of its own. Otherwise used by one thread at a time, which nobody may interrupt.
 */
final class JournalFiles implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(JournalFiles.class);

    static final long KIND = 0x50414c4c4f434b31L; // PALLOCK1
    private static final Pattern NAME = Pattern.compile("palisade-(\\d{1,9})\\.log");

    private final Path directory;
    private final int fileBytes;
    private final ExecutorService background = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "palisade-journal-files");
        thread.setDaemon(true);
        return thread;
    });
    /** Those before the one in use, the oldest first. */
    private final Deque<FullFile> full = new ArrayDeque<>();

    private final List<Found> found;
    /** Not needed any more, the oldest first. Touched by the background thread only. */
    private final Deque<Path> unneeded = new ArrayDeque<>();

    private int number;
    private @Nullable RecordFile file;
    private Future<RecordFile> next = new CompletableFuture<>();
    /** Done when all before the file in use is on the disk. */
    private Future<?> synced = CompletableFuture.completedFuture(null);

    private record FullFile(int number, long lastBatch) {}

    private record Found(int number, RecordFileReader.End end) {
        boolean isEmpty() {
            return end.position() == RecordFile.FILE_HEADER_BYTES && end.torn() == 0;
        }
    }

    /**
     * Reads what is in {@code directory}, and changes nothing there.
     *
     * @param fileBytes of each file; one for a batch that needs more is longer
     * @param batches gets every batch, perhaps some that are not needed any more
     * @throws StoreUnusable when a file is damaged or missing
     */
    static JournalFiles read(Path directory, int fileBytes, BatchReader batches) throws IOException, StoreUnusable {
        makeDurable(directory);
        List<Found> found = new ArrayList<>();
        long expected = 0;
        for (int each : numbers(directory)) {
            Path path = path(directory, each);
            if (!found.isEmpty() && found.get(found.size() - 1).number() != each - 1) {
                throw new StoreUnusable("journal file " + path + " does not follow the one before it, "
                        + path(directory, found.get(found.size() - 1).number())
                        + "; restore the data directory from a copy");
            }
            RecordFileReader.End end = read(path, expected, batches);
            expected = end.nextNumber();
            found.add(new Found(each, end));
        }
        batches.end(Math.max(1, expected));
        return new JournalFiles(directory, fileBytes, found);
    }

    /** Receives what the files hold. */
    interface BatchReader {
        void batch(long number, ByteBuffer bytes) throws IOException, StoreUnusable;

        /**
         * All was read.
         *
         * @param nextNumber of the batch to come
         */
        void end(long nextNumber) throws IOException, StoreUnusable;
    }

    private JournalFiles(Path directory, int fileBytes, List<Found> found) {
        this.directory = directory;
        this.fileBytes = fileBytes;
        this.found = found;
    }

    /**
     * Makes them ready for batches, once: the file for the next one, and the one behind it.
     *
     * @param firstBatch that is needed
     */
    void begin(long firstBatch) throws IOException {
        try (var halfMade = Files.newDirectoryStream(directory, "palisade-*.log.new")) {
            for (Path each : halfMade) {
                Files.delete(each);
            }
        }
        int current = 0;
        for (int i = 0; i < found.size(); i++) {
            if (found.get(i).end().position() > RecordFile.FILE_HEADER_BYTES) {
                current = i; // Those behind it were made ready, and are empty.
            }
        }
        for (Found each : found.subList(0, current)) {
            full.add(new FullFile(each.number(), each.end().nextNumber() - 1));
        }
        if (found.isEmpty()) {
            number = 1;
            file = create(1, fileBytes);
            file().beginAt(1);
        } else {
            Found last = found.get(current);
            number = last.number();
            found.forEach(this::warnOfTorn);
            file = RecordFile.reopen(path(directory, number), last.end());
            file().beginAt(Math.max(1, last.end().nextNumber()));
        }
        dropBefore(firstBatch); // All that was read is on the disk.
        boolean hasNext = current + 1 < found.size() && isReady(found.get(current + 1));
        next = hasNext ? reopen(found.get(current + 1)) : prepare(number + 1);
        if (found.isEmpty()) {
            await(next); // A disk that is too small is found at the first start.
        }
    }

    private boolean isReady(Found empty) throws IOException {
        return empty.isEmpty() && Files.size(path(directory, empty.number())) == fileBytes;
    }

    private Future<RecordFile> reopen(Found empty) {
        return background.submit(() -> RecordFile.reopen(path(directory, empty.number()), empty.end()));
    }

    private RecordFile file() {
        return Objects.requireNonNull(file, "not begun");
    }

    private void warnOfTorn(Found last) {
        if (last.end().torn() > 0) {
            LOG.warn(
                    "journal file {}: {} bytes from byte {} on were never completely written and are dropped; they were not synced",
                    path(directory, last.number()),
                    last.end().torn(),
                    last.end().position());
        }
    }

    private static Path path(Path directory, int number) {
        return directory.resolve("palisade-" + number + ".log");
    }

    /**
     * What a killed process wrote and did not sync is read back all the same, from the kernel's memory. It must not be acted
     * upon and then be lost by a power cut, so it is made durable first.
     */
    private static void makeDurable(Path directory) throws IOException {
        for (int number : numbers(directory)) {
            Path path = path(directory, number);
            OwnerOnly.restrict(path);
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.force(true);
            }
        }
        RecordFile.syncNames(directory);
    }

    private static List<Integer> numbers(Path directory) throws IOException {
        List<Integer> numbers = new ArrayList<>();
        try (var entries = Files.list(directory)) {
            entries.forEach(entry -> {
                Matcher name = NAME.matcher(String.valueOf(entry.getFileName()));
                if (name.matches()) {
                    numbers.add(Integer.parseInt(name.group(1)));
                }
            });
        }
        Collections.sort(numbers);
        return numbers;
    }

    private static RecordFileReader.End read(Path path, long expected, BatchReader batches)
            throws IOException, StoreUnusable {
        try {
            return RecordFileReader.read(
                    path, KIND, expected, true, (number, body, start) -> batches.batch(number, body));
        } catch (DamagedException e) {
            throw new StoreUnusable(
                    "journal file " + path + " is damaged (" + e.getMessage()
                            + "); restore the data directory from a copy",
                    e);
        }
    }

    /** The number that the next batch has. */
    long nextBatch() {
        return file().nextNumber();
    }

    /** Writes a batch. It survives the process, and after the next {@link #sync} a power cut. */
    void append(byte[] batch) throws IOException {
        if (!file().append(batch)) {
            roll(RecordFile.bytesFor(batch.length));
            if (!file().append(batch)) {
                throw new IllegalStateException("a new file has no place for a batch of " + batch.length + " bytes");
            }
        }
    }

    void sync() throws IOException {
        await(synced);
        file().sync();
    }

    /** Whether {@link #dropBefore} would delete a file. */
    boolean hasFilesBefore(long batch) {
        FullFile oldest = full.peek();
        return oldest != null && oldest.lastBatch() < batch;
    }

    /** Deletes files of smaller numbers only: none is needed any more, also after a power cut at this moment. */
    void dropBefore(long batch) {
        while (hasFilesBefore(batch)) {
            Path path = path(directory, full.remove().number());
            background.execute(() -> delete(path));
        }
    }

    /** In their order: a file that is missing between others would be taken for a loss. */
    private void delete(Path path) {
        unneeded.add(path);
        for (Path oldest = unneeded.peek(); oldest != null; oldest = unneeded.peek()) {
            try {
                Files.deleteIfExists(oldest);
            } catch (IOException e) {
                LOG.warn("journal file {} is not needed any more and cannot be deleted ({})", oldest, e.toString());
                return;
            }
            unneeded.remove();
        }
    }

    private void roll(long bytes) throws IOException {
        RecordFile before = file();
        if (synced.isDone()) {
            await(synced); // With durability process nothing else may ask for a long time.
        }
        full.add(new FullFile(number, before.nextNumber() - 1));
        number++;
        RecordFile fresh = ready(bytes);
        fresh.beginAt(before.nextNumber());
        file = fresh;
        Future<?> earlier = synced;
        synced = background.submit(() -> {
            await(earlier); // A failure stays one.
            before.sync();
            before.close();
            return null;
        });
        int following = number + 1;
        next = background.submit(() -> createOrWarn(following));
    }

    private RecordFile ready(long bytes) throws IOException {
        RecordFile prepared;
        try {
            prepared = await(next);
        } catch (InterruptedIOException e) {
            throw e; // It may still be made.
        } catch (IOException e) {
            return create(number, Math.max(bytes, fileBytes)); // The disk may have space again.
        }
        if (bytes <= fileBytes) {
            return prepared;
        }
        prepared.close();
        return create(number, bytes);
    }

    private Future<RecordFile> prepare(int which) {
        return background.submit(() -> create(which, fileBytes));
    }

    /** The file in use has space yet: the first sign is not to be the end of the process. */
    private RecordFile createOrWarn(int which) throws IOException {
        try {
            return create(which, fileBytes);
        } catch (IOException e) {
            LOG.warn(
                    "journal file {} cannot be made ({}); free space before the file in use is full, or this server stops",
                    path(directory, which),
                    e.toString());
            throw e;
        }
    }

    private RecordFile create(int which, long bytes) throws IOException {
        Path path = path(directory, which);
        RecordFile created = RecordFile.create(path, KIND, 0, Collections.emptyIterator(), bytes);
        try {
            OwnerOnly.restrict(path);
        } catch (IOException e) {
            created.close();
            throw e;
        }
        return created;
    }

    private static <T> T await(Future<T> future) throws IOException {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the journal's writer was interrupted");
        }
    }

    /** A second call does nothing. */
    @Override
    public void close() throws IOException {
        if (background.isShutdown()) {
            return;
        }
        Future<RecordFile> prepared = next;
        background.execute(() -> closePrepared(prepared));
        background.shutdown();
        if (file != null) {
            file.close();
        }
        try {
            if (!background.awaitTermination(10, TimeUnit.SECONDS)) {
                LOG.warn("journal {}: the disk does not reply; its files are left as they are", directory);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Made before this by the same thread, or never. */
    private static void closePrepared(Future<RecordFile> prepared) {
        if (prepared.isDone()) {
            try {
                await(prepared).close();
            } catch (IOException e) {
                LOG.debug("the next file was not made", e);
            }
        }
    }
}
