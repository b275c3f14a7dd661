package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.RandomAccess;

/**
 * The ends that one lock remembers: those of leases and waits, oldest first, then the failed tries, oldest first. Each kind has a limit
 * of its own, so failed tries never displace another end. Immutable to its readers; successors share arrays, and only one thread at a
 * time adds.
 */
public final class Tombstones extends AbstractList<Tombstone> implements RandomAccess {
    public static final Tombstones NONE = new Tombstones(Ring.EMPTY, Ring.EMPTY);

    private final Ring ends;
    private final Ring tries;

    private Tombstones(Ring ends, Ring tries) {
        this.ends = ends;
        this.tries = tries;
    }

    /** @param all of each kind oldest first */
    public static Tombstones of(List<Tombstone> all) {
        List<Tombstone> ends = new ArrayList<>(all);
        List<Tombstone> tries = new ArrayList<>();
        ends.removeIf(end -> end.end() == End.BUSY && tries.add(end));
        return new Tombstones(Ring.of(ends), Ring.of(tries));
    }

    /** One more, without those that are too old by then, and within the limit of its kind. */
    Tombstones with(Tombstone newest) {
        boolean isTry = newest.end() == End.BUSY;
        long now = newest.endedAtMillis();
        Ring endsLeft = ends.without(ends.countGone(now, !isTry));
        Ring triesLeft = tries.without(tries.countGone(now, isTry));
        return isTry
                ? new Tombstones(endsLeft, triesLeft.with(newest))
                : new Tombstones(endsLeft.with(newest), triesLeft);
    }

    /** The latest end that {@link #with} forgets before its time; 0 for none. */
    long forgottenEarlyBy(Tombstone newest) {
        Ring full = newest.end() == End.BUSY ? tries : ends;
        return full.forgottenEarly(full.countGone(newest.endedAtMillis(), true), newest.endedAtMillis());
    }

    /** The newest of a request. */
    Optional<Tombstone> of(RequestId request) {
        Optional<Tombstone> end = ends.of(request);
        return end.isPresent() ? end : tries.of(request);
    }

    /** The newest of a grant. */
    Optional<Tombstone> of(GrantId grant) {
        Optional<Tombstone> end = ends.of(grant);
        return end.isPresent() ? end : tries.of(grant);
    }

    /** When the latest was; 0 for none. */
    long latestMillis() {
        return Math.max(ends.latestMillis(), tries.latestMillis());
    }

    @Override
    public Tombstone get(int index) {
        Objects.checkIndex(index, size());
        return index < ends.size() ? ends.get(index) : tries.get(index - ends.size());
    }

    @Override
    public int size() {
        return ends.size() + tries.size();
    }
}
