package dev.palisade.client;

import java.lang.System.Logger.Level;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The executor of user callbacks: the given one, else one daemon thread made on demand, which also runs the callbacks
 * that the given executor rejects. It logs what a callback throws; no failure reaches the loop.
 */
final class Callbacks {
    private static final System.Logger LOG = System.getLogger(Callbacks.class.getName());
    private static final long IDLE_SECONDS = 10;

    private final ThreadPoolExecutor own =
            new ThreadPoolExecutor(1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::newThread);

    @Nullable
    private final Executor given;

    @Nullable
    private volatile Thread thread;

    Callbacks(@Nullable Executor given) {
        this.given = given;
        own.allowCoreThreadTimeOut(true);
    }

    void run(Runnable callback) {
        Runnable guarded = () -> {
            try {
                callback.run();
            } catch (RuntimeException | Error e) {
                LOG.log(Level.WARNING, "a callback threw; the client goes on without it", e);
            }
        };
        if (given != null) {
            try {
                given.execute(guarded);
                return;
            } catch (RejectedExecutionException e) {
                LOG.log(Level.WARNING, "the callback executor rejects work; using a thread of the client's", e);
            }
        }
        own.execute(guarded);
    }

    /** Whether this is the daemon thread, the only one that completes the futures of the client. */
    boolean onOwnThread() {
        return Thread.currentThread() == thread;
    }

    private Thread newThread(Runnable task) {
        Thread made = daemon("palisade-calls", task);
        thread = made;
        return made;
    }

    /** Ends the daemon thread soon after its last callback. */
    void close() {
        own.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
    }

    static Thread daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }
}
