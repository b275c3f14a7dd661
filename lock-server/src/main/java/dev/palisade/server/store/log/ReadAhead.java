package dev.palisade.server.store.log;

import dev.palisade.contract.EventLog;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import java.util.List;
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
    private String owner = "";
    /** Said once, of each owner. */
    private boolean cannotRead;

    /** The batches of a log up to a number, and the loader that has all of them. */
    static final class Beginning {
        private final long generation;
        private final FencedLog.Loader loader;
        private final LogSpace space = new LogSpace();
        private long nextId = 1;
        private long next;
        private long end;
        private Position last;

        private Beginning(BatchStorage.Contents contents, FencedLog.Loader loader) {
            this.generation = contents.generation();
            this.loader = loader;
            this.next = contents.batches().first();
            this.end = next;
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
            return !cannotRead && looks(loaders) && read();
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
        }
    }

    /** What was read, if the log begins with it; it is read on by whoever has it. */
    Optional<Beginning> end(BatchStorage.Contents contents) {
        Optional<Beginning> read = Optional.ofNullable(beginning).filter(one -> one.isOf(contents));
        beginning = null;
        return read;
    }

    /** Whether there is something to read. */
    private boolean looks(Supplier<? extends FencedLog.Loader> loaders) throws StoreUnusable, LogFailure {
        Beginning known = beginning;
        if (known != null && known.next < known.end) {
            return true;
        }
        Optional<BatchStorage.Contents> found = storage.look();
        if (found.isEmpty()) {
            beginning = null;
            return false;
        }
        BatchStorage.Contents contents = found.get();
        BatchSpan batches = contents.batches();
        if (known == null || !known.isOf(contents)) {
            beginning = null;
            if (batches.first() == batches.next()) {
                return false;
            }
            known = new Beginning(contents, loaders.get());
            beginning = known;
        }
        known.end = batches.next();
        known.last = contents.last();
        return known.next < known.end;
    }

    private boolean read() throws StoreUnusable, LogFailure {
        Beginning all = beginning;
        if (all == null) {
            return false;
        }
        List<byte @Nullable []> batches = storage.read(all.generation, all.next, Math.min(all.end, all.next + READS));
        for (byte[] bytes : batches) {
            if (bytes == null) { // Lost, or dropped before it was read: it may have deleted what an earlier one added.
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
