package dev.palisade.client;

import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * A listener of one handle of a lease, with the executor of its notifications. They run one at a time, and none begins
 * after it is closed. Safe for use by many threads.
 */
final class Listener<T> {
    private final LeaseHandle handle;
    private final Executor where;
    private final Consumer<T> notified;
    /** Held by the thread that notifies. Not a monitor, so that a virtual thread leaves its carrier. */
    private final ReentrantLock notifying = new ReentrantLock();

    private volatile boolean closed;

    Listener(LeaseHandle handle, Executor where, Consumer<T> notified) {
        this.handle = handle;
        this.where = where;
        this.notified = notified;
    }

    boolean isOf(LeaseHandle other) {
        return handle == other;
    }

    /** Whether its handle is open and it is not closed. */
    boolean listens() {
        return !closed && handle.open();
    }

    void notify(T what) {
        where.execute(() -> {
            notifying.lock();
            try {
                if (!closed) {
                    notified.accept(what);
                }
            } finally {
                notifying.unlock();
            }
        });
    }

    /** Waits for a notification that runs on another thread. */
    void close() {
        // The lock is reentrant: a notification that closes its own listener does not wait for itself.
        notifying.lock();
        try {
            closed = true;
        } finally {
            notifying.unlock();
        }
    }
}
