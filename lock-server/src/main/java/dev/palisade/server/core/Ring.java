package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import java.util.List;
import java.util.Optional;

/**
 * Bounded list of the ends of one kind, oldest first, used by {@link Tombstones}. Nearly every call searches it and finds nothing, so
 * the hashes are stored side by side: 256 of them fit into a few cache lines. Most calls add one end, so successors share an array, of
 * which the newer sees one entry more. Immutable to its readers; only one thread at a time adds.
 */
final class Ring {
    static final Ring EMPTY = new Ring(new Shared(0), 0, 0);

    private static final int CAPACITY_MIN = 4;

    private final Shared shared;
    private final int from;
    private final int to;

    /** Entries never change once they are there. */
    private static final class Shared {
        final Tombstone[] ends;
        final int[] requestHashes;
        final int[] grantHashes;
        int used;

        Shared(int capacity) {
            ends = new Tombstone[capacity];
            requestHashes = new int[capacity];
            grantHashes = new int[capacity];
        }

        void add(Tombstone end) {
            ends[used] = end;
            requestHashes[used] = end.request().hashCode();
            grantHashes[used] = end.grant().hashCode();
            used++;
        }
    }

    private Ring(Shared shared, int from, int to) {
        this.shared = shared;
        this.from = from;
        this.to = to;
    }

    static Ring of(List<Tombstone> ends) {
        Shared shared = new Shared(ends.size());
        ends.forEach(shared::add);
        return new Ring(shared, 0, shared.used);
    }

    /** How many of the oldest are forgotten: the old ones, and one for another if the ring is full. */
    int countGone(long nowMillis, boolean forAnother) {
        int gone = 0;
        while (gone < size()
                && (isOld(get(gone), nowMillis) || (forAnother && size() - gone >= Limits.TOMBSTONES_PER_LOCK_MAX))) {
            gone++;
        }
        return gone;
    }

    /** The latest of the {@code gone} oldest that is not old; 0 for none. */
    long forgottenEarly(int gone, long nowMillis) {
        long latest = 0;
        for (int i = 0; i < gone; i++) {
            latest = isOld(get(i), nowMillis) ? latest : Math.max(latest, get(i).endedAtMillis());
        }
        return latest;
    }

    private static boolean isOld(Tombstone end, long nowMillis) {
        return end.endedAtMillis() + Limits.TOMBSTONE_MILLIS <= nowMillis;
    }

    Ring without(int gone) {
        return gone == 0 ? this : new Ring(shared, from + gone, to);
    }

    Ring with(Tombstone newest) {
        // A decision that was not adopted used more of the array. It keeps its array.
        if (shared.used == to && to < shared.ends.length) {
            shared.add(newest);
            return new Ring(shared, from, shared.used);
        }
        int kept = size();
        Shared copy = new Shared(Math.max(CAPACITY_MIN, 2 * (kept + 1)));
        System.arraycopy(shared.ends, from, copy.ends, 0, kept);
        System.arraycopy(shared.requestHashes, from, copy.requestHashes, 0, kept);
        System.arraycopy(shared.grantHashes, from, copy.grantHashes, 0, kept);
        copy.used = kept;
        copy.add(newest);
        return new Ring(copy, 0, copy.used);
    }

    Optional<Tombstone> of(RequestId request) {
        int hash = request.hashCode();
        int[] hashes = shared.requestHashes;
        for (int i = to - 1; i >= from; i--) {
            if (hashes[i] == hash && shared.ends[i].request().equals(request)) {
                return Optional.of(shared.ends[i]);
            }
        }
        return Optional.empty();
    }

    Optional<Tombstone> of(GrantId grant) {
        int hash = grant.hashCode();
        int[] hashes = shared.grantHashes;
        for (int i = to - 1; i >= from; i--) {
            if (hashes[i] == hash && shared.ends[i].grant().equals(grant)) {
                return Optional.of(shared.ends[i]);
            }
        }
        return Optional.empty();
    }

    long latestMillis() {
        return from == to ? 0 : get(size() - 1).endedAtMillis();
    }

    Tombstone get(int index) {
        return shared.ends[from + index];
    }

    int size() {
        return to - from;
    }
}
