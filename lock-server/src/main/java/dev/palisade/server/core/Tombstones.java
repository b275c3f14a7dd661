package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import java.util.AbstractList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.RandomAccess;

/**
 * The ends that one lock remembers, oldest first. Immutable to whoever has it. Every call asks whether its request or grant is among
 * them and nearly always is told no, so their hashes stand side by side: 256 of them are looked through within a few cache
 * lines. And most calls add one, so successors share an array: the newer sees one entry more of it. Only one thread at a time adds.
 */
public final class Tombstones extends AbstractList<Tombstone> implements RandomAccess {
    public static final Tombstones NONE = new Tombstones(new Shared(0), 0, 0);

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

    private Tombstones(Shared shared, int from, int to) {
        this.shared = shared;
        this.from = from;
        this.to = to;
    }

    /** @param ends oldest first */
    public static Tombstones of(List<Tombstone> ends) {
        Shared shared = new Shared(ends.size());
        ends.forEach(shared::add);
        return new Tombstones(shared, 0, shared.used);
    }

    /** One more, without the oldest {@code gone}. */
    Tombstones with(Tombstone newest, int gone) {
        int first = from + gone;
        // Used further than this goes: by a decision that nobody took over. It keeps its array.
        if (shared.used == to && to < shared.ends.length) {
            shared.add(newest);
            return new Tombstones(shared, first, shared.used);
        }
        int kept = to - first;
        Shared copy = new Shared(Math.max(CAPACITY_MIN, 2 * (kept + 1)));
        System.arraycopy(shared.ends, first, copy.ends, 0, kept);
        System.arraycopy(shared.requestHashes, first, copy.requestHashes, 0, kept);
        System.arraycopy(shared.grantHashes, first, copy.grantHashes, 0, kept);
        copy.used = kept;
        copy.add(newest);
        return new Tombstones(copy, 0, copy.used);
    }

    /** The newest of a request. */
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

    /** The newest of a grant. */
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

    @Override
    public Tombstone get(int index) {
        return shared.ends[from + Objects.checkIndex(index, size())];
    }

    @Override
    public int size() {
        return to - from;
    }
}
