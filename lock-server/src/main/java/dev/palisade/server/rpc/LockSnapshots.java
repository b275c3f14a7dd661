package dev.palisade.server.rpc;

import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Cache of snapshots of the locks in use, shared by all callers: the store is read at most once a second, and at most a tenth of
 * the time, however many callers ask. A snapshot has a bounded number of locks. Where more are in use, each of a few prefixes has
 * a snapshot of its own. Thread-safe.
 */
final class LockSnapshots {
    /** Locks of one snapshot. */
    static final int LOCKS_MAX = 10_000;

    /** Snapshots that are kept, the one of all locks included. */
    static final int SNAPSHOTS_MAX = 8;

    private static final long LIFE_NANOS_LEAST = TimeUnit.SECONDS.toNanos(1);
    /** How many times longer than it took to read a snapshot is used. */
    private static final int LIFE_FACTOR = 10;

    private static final int PAGE_LOCKS = 500;

    private final Source source;
    private final LongSupplier nanoTime;
    /** By prefix, the least recently used comes first: never the one of all locks, which every listing uses. */
    private final Map<String, Snapshot> kept = new LinkedHashMap<>(SNAPSHOTS_MAX, 1, true);

    /** Pages of the locks in use, in the order of names. */
    interface Source {
        CompletionStage<LockPage> list(String prefix, String after, int locksMax);
    }

    private static final class Snapshot {
        final CompletableFuture<LockPage> locks = new CompletableFuture<>();
        final long begunNanos;
        volatile long endsNanos;

        Snapshot(long nowNanos) {
            this.begunNanos = nowNanos;
            this.endsNanos = nowNanos + LIFE_NANOS_LEAST;
        }

        boolean isUsable(long nowNanos) {
            return !locks.isDone() || nowNanos - endsNanos < 0;
        }
    }

    LockSnapshots(Source source, LongSupplier nanoTime) {
        this.source = source;
        this.nanoTime = nanoTime;
    }

    /**
     * The locks whose names begin with {@code prefix}, in the order of names.
     *
     * @return a page whose {@link LockPage#nextAfter} is not empty if more are in use than a snapshot has
     */
    CompletionStage<LockPage> of(String prefix) {
        return snapshot("").thenCompose(all -> {
            if (prefix.isEmpty()) {
                return CompletableFuture.completedFuture(all);
            }
            return all.nextAfter().isEmpty()
                    ? CompletableFuture.completedFuture(beginning(prefix, all))
                    : snapshot(prefix);
        });
    }

    private static LockPage beginning(String prefix, LockPage all) {
        List<LockState> found = all.locks().stream()
                .filter(state -> state.name().value().startsWith(prefix))
                .toList();
        return new LockPage(found, "", all.nowMillis());
    }

    private CompletionStage<LockPage> snapshot(String prefix) {
        Snapshot begun;
        synchronized (kept) {
            long now = nanoTime.getAsLong();
            Snapshot known = kept.get(prefix);
            if (known != null && known.isUsable(now)) {
                return known.locks;
            }
            kept.remove(prefix);
            if (kept.size() >= SNAPSHOTS_MAX) {
                kept.remove(kept.keySet().iterator().next());
            }
            begun = new Snapshot(now);
            kept.put(prefix, begun);
        }
        read(begun, prefix, "", new ArrayList<>());
        return begun.locks;
    }

    private void read(Snapshot snapshot, String prefix, String after, List<LockState> before) {
        var unused = source.list(prefix, after, PAGE_LOCKS).whenComplete((page, failure) -> {
            if (failure != null) {
                // Reported to all that wait, and for the rest of the second: a store in trouble is not asked more
                // often.
                snapshot.locks.completeExceptionally(failure);
                return;
            }
            before.addAll(page.locks());
            if (page.nextAfter().isEmpty() || before.size() >= LOCKS_MAX) {
                long now = nanoTime.getAsLong();
                snapshot.endsNanos = now + Math.max(LIFE_NANOS_LEAST, LIFE_FACTOR * (now - snapshot.begunNanos));
                snapshot.locks.complete(new LockPage(List.copyOf(before), page.nextAfter(), page.nowMillis()));
            } else {
                read(snapshot, prefix, page.nextAfter(), before);
            }
        });
    }
}
