package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Who of this client waits for one lock, one after another. One {@link Place} of theirs is in the server's queue; who comes
 * later gathers behind it, and is asked for when that one is over: for as many at once as a grant has turns. Nobody elsewhere
 * waits longer than if each of them had a place of his own, since none gets before somebody who was in the queue when he was asked
 * for. In the loop only.
 */
final class Line {
    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final Runnable whenEmpty;
    /** Mostly nobody. */
    private Set<Acquire> behind = Set.of();

    private Place place;

    Line(Session session, Acquire first, Runnable whenEmpty) {
        this.session = session;
        this.lock = first.lock();
        this.options = first.options();
        this.whenEmpty = whenEmpty;
        this.place = new Place(session, lock, options, this::next);
        place.add(first);
        place.begin();
    }

    /** Whether a lease of these would also do for {@code acquire}. */
    boolean fits(Acquire acquire) {
        AcquireOptions other = acquire.options();
        return other.ttl().equals(options.ttl())
                && other.lockDelay().equals(options.lockDelay())
                && other.purpose().equals(options.purpose());
    }

    void join(Acquire acquire) {
        if (behind.isEmpty() && place.hasRoom()) {
            place.add(acquire);
        } else {
            if (behind.isEmpty()) {
                behind = new LinkedHashSet<>();
            }
            behind.add(acquire);
            acquire.waitsAt(place);
            acquire.queued();
        }
    }

    /** They had their place, and the lease ended before their turns. */
    void rejoin(List<Acquire> before) {
        Set<Acquire> all = new LinkedHashSet<>(before);
        all.addAll(behind);
        behind = all;
        before.forEach(acquire -> acquire.waitsAt(place));
    }

    void left(Acquire acquire) {
        if (!behind.isEmpty()) {
            behind.remove(acquire);
        }
    }

    private void next() {
        if (session.closing()) {
            List<Acquire> all = List.copyOf(behind);
            behind = Set.of();
            all.forEach(Acquire::clientClosed);
        }
        if (behind.isEmpty()) {
            whenEmpty.run();
            return;
        }
        place = new Place(session, lock, options, this::next);
        Iterator<Acquire> waiting = behind.iterator();
        for (int i = 0; i < FencingToken.PER_GRANT && waiting.hasNext(); i++) {
            place.add(waiting.next());
            waiting.remove();
        }
        behind.forEach(acquire -> acquire.waitsAt(place));
        place.begin();
    }
}
