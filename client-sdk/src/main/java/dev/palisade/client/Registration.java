package dev.palisade.client;

/**
 * A listener's registration. After {@link #close} has returned, no notification of the listener begins, and none runs
 * on another thread: close waits for one that runs there. Within a notification of the listener itself, close returns
 * at once. A caller of close must not hold a lock that the notification waits for. Closing never throws, is not ended
 * by an interrupt, and does nothing the second time. A listener need not be closed: it goes with its lease. Safe for
 * use by many threads.
 */
@FunctionalInterface
public interface Registration extends AutoCloseable {
    /** Takes the listener off, and waits for its notification that runs on another thread. */
    @Override
    void close();
}
