package dev.palisade.client;

import io.grpc.SynchronizationContext;
import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;

/**
 * A direct executor of a fake's server and clients: a task runs at once, on the thread that submits it, also inside
 * another task. User callbacks run on that thread after its outermost task, so that no lock is held and they may block.
 * Safe for use by many threads.
 */
final class DirectExecutor implements Executor {
    private static final System.Logger LOG = System.getLogger(DirectExecutor.class.getName());

    private final ThreadLocal<Integer> depth = ThreadLocal.withInitial(() -> 0);
    private final SynchronizationContext callbacks = new SynchronizationContext(
            (thread, failure) -> LOG.log(Level.WARNING, "a callback of a fake's client threw", failure));

    /** Runs {@code task} at once. */
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

    /** Runs {@code callback} after the outermost task of this thread; one callback at a time. */
    void executeAfterwards(Runnable callback) {
        callbacks.executeLater(callback);
        if (depth.get() == 0) {
            callbacks.drain();
        }
    }
}
