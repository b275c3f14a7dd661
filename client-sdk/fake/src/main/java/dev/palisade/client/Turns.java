package dev.palisade.client;

import io.grpc.SynchronizationContext;
import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;

/**
 * Everything of a fake runs on the thread that causes it, server and clients inside one another; the user's callbacks run when that
 * thread has come out of all of them, so that a callback finds nothing locked and may block. Safe for use by many threads.
 */
final class Turns implements Executor {
    private static final System.Logger LOG = System.getLogger(Turns.class.getName());

    private final ThreadLocal<Integer> depth = ThreadLocal.withInitial(() -> 0);
    private final SynchronizationContext callbacks = new SynchronizationContext(
            (thread, failure) -> LOG.log(Level.WARNING, "a callback of a fake's client threw", failure));

    /** Runs at once. */
    @Override
    public void execute(Runnable task) {
        int outer = depth.get();
        depth.set(outer + 1);
        try {
            task.run();
        } finally {
            depth.set(outer);
            if (outer == 0) {
                callbacks.drain();
            }
        }
    }

    /** Runs when this thread has come out; one callback at a time. */
    void afterwards(Runnable callback) {
        callbacks.executeLater(callback);
        if (depth.get() == 0) {
            callbacks.drain();
        }
    }
}
