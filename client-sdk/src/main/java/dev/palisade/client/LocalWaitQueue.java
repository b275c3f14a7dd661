package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * A local FIFO queue of the acquires of one client for one lock. One {@link PendingAcquire} of theirs is in the
 * server's queue. Later acquires wait here until it ends, and are then requested together: at most as many as one grant
 * has tokens. No client waits for more holders than with a request for each acquire, because a request covers only
 * acquires that wait when it is sent. In the loop only.
 */
final class LocalWaitQueue {
    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final Runnable onEmpty;
    /** Acquires without a request at the server; empty most of the time. */
    private Set<Acquire> waiting = Set.of();

    /** The request that is in the server's queue. */
    private PendingAcquire pending;

    LocalWaitQueue(Session session, Acquire first, Runnable onEmpty) {
        this.session = session;
        this.lock = first.lock();
        this.options = first.options();
        this.onEmpty = onEmpty;
        this.pending = new PendingAcquire(session, lock, options, this::requestNext);
        pending.add(first);
        pending.begin();
    }

    /** Whether a lease of these options also serves {@code acquire}. */
    boolean isCompatible(Acquire acquire) {
        AcquireOptions other = acquire.options();
        return other.ttl().equals(options.ttl())
                && other.lockDelay().equals(options.lockDelay())
                && other.purpose().equals(options.purpose());
    }

    void add(Acquire acquire) {
        if (waiting.isEmpty() && pending.hasRoom()) {
            pending.add(acquire);
        } else {
            if (waiting.isEmpty()) {
                waiting = new LinkedHashSet<>();
            }
            waiting.add(acquire);
            acquire.dependOn(pending);
            acquire.queued();
        }
    }

    /** Puts back, at the head, acquires whose lease ended before it was handed off to them. */
    void putBack(List<Acquire> acquires) {
        Set<Acquire> all = new LinkedHashSet<>(acquires);
        all.addAll(waiting);
        waiting = all;
        acquires.forEach(acquire -> acquire.dependOn(pending));
    }

    void remove(Acquire acquire) {
        if (!waiting.isEmpty()) {
            waiting.remove(acquire);
        }
    }

    private void requestNext() {
        if (session.closing()) {
            List<Acquire> all = List.copyOf(waiting);
            waiting = Set.of();
            all.forEach(Acquire::clientClosed);
        }
        if (waiting.isEmpty()) {
            onEmpty.run();
            return;
        }
        pending = new PendingAcquire(session, lock, options, this::requestNext);
        Iterator<Acquire> next = waiting.iterator();
        for (int i = 0; i < FencingToken.PER_GRANT && next.hasNext(); i++) {
            pending.add(next.next());
            next.remove();
        }
        waiting.forEach(acquire -> acquire.dependOn(pending));
        pending.begin();
    }
}
