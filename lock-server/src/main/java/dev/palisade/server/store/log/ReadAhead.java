package dev.palisade.server.store.log;

import dev.palisade.contract.EventLog;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads a log that another server owns, as far as it is written: a takeover has little left to read, and a log that this server cannot
 * read is reported before it matters. What was read counts as long as the last batch is of the same writer and no number was missed,
 * because one writer stores one batch under a number. Used by one thread at a time.
 */
final class ReadAhead {
    /** Batches that are read at one time: few, so that the next claim is not late. */
    private static final int READS = 8;

    private final BatchStorage storage;
    private final EventLog events;
    private @Nullable Beginning beginning;
    private @Nullable Hole hole;
    private String owner = "";
    /** Said once, of each owner. */
    private boolean cannotRead;

    /** A batch that was not there: what is before it is not read again. */
    private record Hole(long generation, long number) {
        boolean isIn(BatchStorage.Contents contents) {
            return generation == contents.generation() && contents.batches().first() <= number;
        }
    }

    /** The batches of a log up to a number, and the loader that has all of them. */
    static final class Beginning {
        private final long generation;
        private final FencedLog.Loader loader;
        private final LogSpace space = new LogSpace();
        private long nextId = 1;
        private long next;
        private Position last;

        private Beginning(BatchStorage.Contents contents, FencedLog.Loader loader) {
            this.generation = contents.generation();
            this.loader = loader;
            this.next = contents.batches().first();
            this.last = contents.last();
        }

        /** Whether the log begins with what was read, and nothing of the rest is dropped. */
        private boolean isOf(BatchStorage.Contents contents) {
            BatchSpan batches = contents.batches();
            return generation == contents.generation()
                    && !last.equals(Position.NONE)
                    && last.isUpTo(contents.last())
                    && batches.first() <= next
                    && next <= batches.next();
        }

        private void isAt(BatchStorage.Contents contents) {
            last = contents.last();
            space.dropped(contents.batches().first());
        }

        private void read(BatchStorage storage, byte[] bytes) throws StoreUnusable {
            RecordBatch.Contents contents = BatchedLog.contents(storage, generation, next, bytes, loader);
            space.stored(next++, nextId, bytes.length);
            nextId = Math.max(nextId, contents.lastId() + 1);
        }

        FencedLog.Loader loader() {
            return loader;
        }

        LogSpace space() {
            return space;
        }

        /** Larger than the ids of all records that were read. */
        long nextId() {
            return nextId;
        }

        /** Number of the first batch that was not read. */
        long next() {
            return next;
        }
    }

    ReadAhead(BatchStorage storage, EventLog events) {
        this.storage = storage;
        this.events = events;
    }

    /** Reads the next part. Returns whether there may be more. */
    boolean readOn(Supplier<? extends FencedLog.Loader> loaders) {
        try {
            return !cannotRead && readPart(loaders);
        } catch (StoreUnusable | LogFailure e) {
            beginning = null; // The next claim says so.
        } catch (RuntimeException e) {
            cannotTakeOver(e);
        }
        return false;
    }

    /** Reads the log of another owner anew: it may be of another release. */
    void ownedBy(String server) {
        if (!server.equals(owner)) {
            owner = server;
            cannotRead = false;
            hole = null;
        }
    }

    /** What was read, if the log begins with it; it is read on by whoever has it. */
    Optional<Beginning> end(BatchStorage.Contents contents) {
        Optional<Beginning> read = Optional.ofNullable(beginning).filter(one -> one.isOf(contents));
        beginning = null;
        return read;
    }

    /** Looks and reads in one turn, so at one primary: another may have another log. */
    private boolean readPart(Supplier<? extends FencedLog.Loader> loaders) throws StoreUnusable, LogFailure {
        Optional<BatchStorage.Contents> found = storage.look();
        if (found.isEmpty()) {
            beginning = null;
            return false;
        }
        BatchSpan batches = found.get().batches();
        Beginning all = beginning;
        if (all == null || !all.isOf(found.get())) {
            beginning = null;
            boolean ended = hole != null && hole.isIn(found.get());
            if (ended || batches.first() == batches.next()) {
                return false;
            }
            all = new Beginning(found.get(), loaders.get());
            beginning = all;
        }
        all.isAt(found.get());
        return all.next < batches.next()
                && read(all, Math.min(batches.next(), all.next + READS))
                && all.next < batches.next();
    }

    private boolean read(Beginning all, long end) throws StoreUnusable, LogFailure {
        for (byte[] bytes : storage.read(all.generation, all.next, end)) {
            if (bytes == null) { // Lost, or dropped before it was read: it may have deleted what an earlier one added.
                hole = new Hole(all.generation, all.next);
                beginning = null;
                return false;
            }
            try {
                all.read(storage, bytes);
            } catch (StoreUnusable e) {
                cannotTakeOver(e);
                return false;
            }
        }
        return true;
    }

    private void cannotTakeOver(Exception why) {
        beginning = null;
        cannotRead = true;
        events.warn("store_warning", "message", "this standby cannot take over: " + why.getMessage());
    }
}
