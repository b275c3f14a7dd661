package dev.palisade.server.store.log;

import dev.palisade.contract.EventLog;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A prefix of a log that another server owns, read while this server is a standby. A takeover then reads only the rest, and a log that
 * this server cannot read is reported before. The prefix is valid while the last batch is of the same writer and no batch was missed:
 * a writer stores one batch under a number. Used by one thread at a time.
 */
final class ReadAhead {
    /** Batches that are read at one time: few, so that the next claim is not late. */
    private static final int READS = 8;

    private final BatchStorage storage;
    private final EventLog events;
    private @Nullable Prefix prefix;
    private @Nullable MissingBatch missing;
    private String owner = "";
    /** Said once, of each owner. */
    private boolean cannotRead;

    /** A batch that the log does not have. While the log begins before it, no prefix gets past it. */
    private record MissingBatch(long generation, long number) {
        boolean isIn(BatchStorage.Contents contents) {
            return generation == contents.generation() && contents.batches().first() <= number;
        }
    }

    /** The batches of a log up to a number, and the loader that received them. */
    static final class Prefix {
        private final long generation;
        private final FencedLog.Loader loader;
        private final LogSpace space = new LogSpace();
        private long nextId = 1;
        private long next;
        private Position last;

        private Prefix(BatchStorage.Contents contents, FencedLog.Loader loader) {
            this.generation = contents.generation();
            this.loader = loader;
            this.next = contents.batches().first();
            this.last = contents.last();
        }

        /** Whether the log begins with these batches, and still has all later ones. */
        private boolean isPrefixOf(BatchStorage.Contents contents) {
            BatchSpan batches = contents.batches();
            return generation == contents.generation()
                    && !last.equals(Position.NONE)
                    && last.isUpTo(contents.last())
                    && batches.first() <= next
                    && next <= batches.next();
        }

        /** Follows the log: forgets what it has dropped. */
        private void follow(BatchStorage.Contents contents) {
            last = contents.last();
            space.dropped(contents.batches().first());
        }

        private void add(BatchStorage storage, byte[] bytes) throws StoreUnusable {
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
    boolean readNext(Supplier<? extends FencedLog.Loader> loaders) {
        try {
            return !cannotRead && readPart(loaders);
        } catch (StoreUnusable | LogFailure e) {
            prefix = null; // The next claim says so.
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
            missing = null;
        }
    }

    /** Removes the prefix, and returns it if it is one of this log. The caller reads the rest. */
    Optional<Prefix> take(BatchStorage.Contents contents) {
        Optional<Prefix> taken = Optional.ofNullable(prefix).filter(any -> any.isPrefixOf(contents));
        prefix = null;
        return taken;
    }

    /** Reads the head before each part, over the same connection: another primary may have another log. */
    private boolean readPart(Supplier<? extends FencedLog.Loader> loaders) throws StoreUnusable, LogFailure {
        Optional<BatchStorage.Contents> found = storage.look();
        if (found.isEmpty()) {
            prefix = null;
            return false;
        }
        BatchSpan batches = found.get().batches();
        Prefix read = prefix;
        if (read == null || !read.isPrefixOf(found.get())) {
            prefix = null;
            boolean lacksBatch = missing != null && missing.isIn(found.get());
            if (lacksBatch || batches.first() == batches.next()) {
                return false;
            }
            read = new Prefix(found.get(), loaders.get());
            prefix = read;
        }
        read.follow(found.get());
        return read.next < batches.next()
                && extend(read, Math.min(batches.next(), read.next + READS))
                && read.next < batches.next();
    }

    private boolean extend(Prefix read, long end) throws StoreUnusable, LogFailure {
        for (byte[] bytes : storage.read(read.generation, read.next, end)) {
            if (bytes == null) { // Lost, or dropped before it was read: it may have deleted what an earlier one added.
                missing = new MissingBatch(read.generation, read.next);
                prefix = null;
                return false;
            }
            try {
                read.add(storage, bytes);
            } catch (StoreUnusable e) {
                cannotTakeOver(e);
                return false;
            }
        }
        return true;
    }

    private void cannotTakeOver(Exception why) {
        prefix = null;
        cannotRead = true;
        events.warn("store_warning", "message", "this standby cannot take over: " + why.getMessage());
    }
}
