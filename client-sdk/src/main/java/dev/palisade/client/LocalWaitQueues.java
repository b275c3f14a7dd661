package dev.palisade.client;

import dev.palisade.contract.LockName;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A map of the {@link LocalWaitQueue}s of one client by lock; empty queues are removed. In the loop only. */
final class LocalWaitQueues {
    private final Session session;
    private final Map<LockName, LocalWaitQueue> byLock = new HashMap<>();

    LocalWaitQueues(Session session) {
        this.session = session;
    }

    /** Adds {@code acquire} to the queue of its lock, or requests it alone if it cannot share a lease. */
    void add(Acquire acquire) {
        LocalWaitQueue queue = byLock.get(acquire.lock());
        if (!acquire.allowsHandoff() || (queue != null && !queue.isCompatible(acquire))) {
            PendingAcquire alone = new PendingAcquire(session, acquire.lock(), acquire.options(), () -> {});
            alone.add(acquire);
            alone.begin();
        } else if (queue == null) {
            begin(acquire);
        } else {
            queue.add(acquire);
        }
    }

    private void begin(Acquire first) {
        LockName lock = first.lock();
        byLock.put(lock, new LocalWaitQueue(session, first, () -> byLock.remove(lock)));
    }

    /** Puts back acquires whose lease ended before it was handed off to them. They precede acquires that came later. */
    void putBack(List<Acquire> waiting) {
        List<Acquire> left =
                waiting.stream().filter(acquire -> !acquire.isOver()).toList();
        if (left.isEmpty()) {
            return;
        }
        if (session.closing()) {
            left.forEach(Acquire::clientClosed);
            return;
        }
        LocalWaitQueue queue = byLock.get(left.get(0).lock());
        if (queue != null && queue.isCompatible(left.get(0))) {
            queue.putBack(left);
        } else {
            left.forEach(this::add);
        }
    }

    void remove(Acquire acquire) {
        LocalWaitQueue queue = byLock.get(acquire.lock());
        if (queue != null) {
            queue.remove(acquire);
        }
    }
}
