package dev.palisade.server.store.log;

import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreUnusable;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads a log that another server owns, as a takeover would, and keeps nothing of it: so a takeover runs code that is compiled, and a log
 * that this server cannot read is reported before it matters. The log is read again once it has doubled. Used by one thread at a time.
 */
final class Rehearsal {
    /** Batches that are read at one time: few, so that the next claim is not late. */
    private static final int READS = 8;

    private final BatchStorage storage;
    private final EventLog events;
    private @Nullable Pass pass;
    private String owner = "";
    private long beginsAt = 1;

    /** The log is read from its first to its last batch. */
    private static final class Pass {
        final long generation;
        final long end;
        final FencedLog.Loader loader;
        long from;

        Pass(BatchStorage.Contents contents, FencedLog.Loader loader) {
            this.generation = contents.generation();
            this.from = contents.batches().first();
            this.end = contents.batches().next();
            this.loader = loader;
        }
    }

    Rehearsal(BatchStorage storage, EventLog events) {
        this.storage = storage;
        this.events = events;
    }

    /** Reads the next part. Returns whether there is more. */
    boolean goOn(Supplier<? extends FencedLog.Loader> loaders) {
        try {
            Pass now = pass == null ? begin(loaders) : pass;
            pass = now != null && read(now) ? now : null;
        } catch (StoreUnusable | LogFailure e) {
            pass = null; // The next claim says so.
        } catch (RuntimeException e) {
            pass = null;
            cannotTakeOver(e);
        }
        return pass != null;
    }

    /** Reads the log of another owner anew: it may be of another release. */
    void ownedBy(String server) {
        if (!server.equals(owner)) {
            owner = server;
            pass = null;
            beginsAt = 1;
        }
    }

    /** Keeps no memory that a takeover needs. */
    void end() {
        pass = null;
    }

    private @Nullable Pass begin(Supplier<? extends FencedLog.Loader> loaders) throws StoreUnusable, LogFailure {
        Optional<BatchStorage.Contents> found = storage.look();
        if (found.isEmpty()) {
            return null;
        }
        BatchSpan batches = found.get().batches();
        long size = batches.next() - batches.first();
        if (size < beginsAt) {
            return null;
        }
        beginsAt = 2 * size;
        return new Pass(found.get(), loaders.get());
    }

    private boolean read(Pass now) throws StoreUnusable, LogFailure {
        long end = Math.min(now.end, now.from + READS);
        List<byte @Nullable []> batches = storage.read(now.generation, now.from, end);
        for (long number = now.from; number < end; number++) {
            byte[] bytes = batches.get((int) (number - now.from));
            if (bytes != null && !isReadable(now, number, bytes)) {
                return false;
            }
        }
        now.from = end;
        return end < now.end;
    }

    private boolean isReadable(Pass now, long number, byte[] bytes) {
        try {
            var unused = BatchedLog.contents(storage, now.generation, number, bytes, now.loader);
            return true;
        } catch (StoreUnusable e) {
            cannotTakeOver(e);
            return false;
        }
    }

    private void cannotTakeOver(Exception why) {
        beginsAt = Long.MAX_VALUE; // Said once, of each owner.
        events.warn("store_warning", "message", "this standby cannot take over: " + why.getMessage());
    }
}
