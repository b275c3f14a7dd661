package dev.palisade.server.store.log;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Queue whose batches are processed by one thread at a time: its own, which also comes when time alone has something to decide; or,
 * where a batch does not block, the thread that has asked for a few things together, so that no other has to wake up for them.
 * Batches may wait for replies: with enough of them nothing more is processed until the thread that brings a reply does so. Knows
 * nothing of locks.
 */
final class CombiningExecutor<T> {
    private static final int BATCH_MAX = 4_096;
    /** More commands than this wake the store's own thread, so that the caller can read its next frame meanwhile. */
    private static final int ELSEWHERE_MAX = 64;

    private final int askedMax;
    private final long sleepMaxMillis;
    private final BatchProcessor<T> processor;
    private final Thread own;
    private final Queue<T> asked = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    /** Set on a thread that has more to ask before anybody needs to look. */
    private final ThreadLocal<Boolean> asking = new ThreadLocal<>();

    private final ReentrantLock turn = new ReentrantLock();
    private final List<T> batch = new ArrayList<>();
    /** When there is something to decide without a command, as computed by the last batch. */
    private volatile long dueMillis = Long.MAX_VALUE;

    private volatile long sleepsUntilMillis = Long.MIN_VALUE;
    private volatile boolean stopping;
    private boolean over;

    /** Processes what was asked. */
    interface BatchProcessor<T> {
        /** @return when there is something to decide without being asked, in the store's time */
        long decide(List<T> asked);

        /** Whether the next batch may block: then the own thread takes it. Called in a turn. */
        boolean mayBlock();

        /** Whether a batch waits for a reply. Thread-safe. */
        default boolean isWaiting() {
            return false;
        }

        /**
         * Whether so many batches wait for replies that no other is processed with {@code asked} things: {@link #decide} is called with
         * nothing meanwhile. Thread-safe.
         */
        default boolean isFull(int asked) {
            return isWaiting();
        }

        /** Whether that reply is there, for {@link #decide} to take. Thread-safe. */
        default boolean isReplied() {
            return false;
        }

        long nowMillis();

        /** The store's own thread ends by this; not called for what a turn threw. */
        void failed(RuntimeException failure);
    }

    /**
     * @param askedMax that may wait for a turn
     * @param sleepMaxMillis after which its own thread looks at the time in any case
     */
    CombiningExecutor(String thread, int askedMax, long sleepMaxMillis, BatchProcessor<T> processor) {
        this.askedMax = askedMax;
        this.sleepMaxMillis = sleepMaxMillis;
        this.processor = processor;
        this.own = new Thread(this::run, thread);
    }

    void start() {
        own.start();
    }

    /** False when too much waits already. */
    boolean ask(T something) {
        if (count.incrementAndGet() > askedMax) {
            count.decrementAndGet();
            return false;
        }
        asked.add(something);
        if (asking.get() == null && !isFull() && !processor.isReplied()) { // Else the thread of the reply takes it.
            wakeOwn(Long.MIN_VALUE);
        }
        return true;
    }

    /** Runs {@code asks} and wakes no thread before its end. May run batches then; so not for a thread that may be interrupted. */
    void together(Runnable asks) {
        asking.set(true);
        try {
            asks.run();
        } finally {
            asking.remove();
            take();
        }
    }

    /** For the thread that brings the reply for which the last batch waits. May take turns. */
    void replied() {
        take();
    }

    private void take() {
        if (count.get() > ELSEWHERE_MAX) {
            if (hasWork()) {
                wakeOwn(Long.MIN_VALUE);
            }
        } else {
            takeTurns();
        }
    }

    private boolean hasWork() {
        return processor.isReplied() || (!asked.isEmpty() && !isFull());
    }

    private boolean isFull() {
        return processor.isFull(count.get());
    }

    /** Whether nothing is decided any more. Looked at between turns: one of another thread may be about to wait for a reply. */
    private boolean isDone() {
        if (!stopping) {
            return false;
        }
        turn.lock();
        try {
            over = asked.isEmpty() && !processor.isWaiting() && !processor.isReplied();
            return over;
        } finally {
            turn.unlock();
        }
    }

    /** Takes back a command that will not be decided any more; null if there is none. */
    @Nullable
    T withdraw() {
        T something = asked.poll();
        if (something != null) {
            count.decrementAndGet();
        }
        return something;
    }

    /** Decides what has come in, then no more. Waits for it, also when interrupted. */
    void stop() {
        stopping = true;
        LockSupport.unpark(own);
        boolean interrupted = false;
        while (own.isAlive()) {
            try {
                own.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        turn.lock();
        try {
            over = true;
        } finally {
            turn.unlock();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        while (!isDone()) {
            ownTurn();
            sleep();
        }
    }

    /** Takes a turn on this thread, as the own one does when it wakes. */
    void ownTurn() {
        turn.lock();
        try {
            do {
                decide();
            } while (processor.isReplied());
        } finally {
            turn.unlock();
        }
    }

    private void sleep() {
        long until = dueMillis;
        long millis = Math.min(until - processor.nowMillis(), sleepMaxMillis);
        sleepsUntilMillis = until;
        // Looked at after it was said for how long: who comes later wakes this thread, who came before is seen here.
        if (millis > 0 && !hasWork() && (!stopping || processor.isWaiting()) && dueMillis >= until) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(millis));
        }
        sleepsUntilMillis = Long.MIN_VALUE;
        if (Thread.interrupted()) {
            IllegalStateException failure = new IllegalStateException("nobody may interrupt the store's writer");
            processor.failed(failure);
            throw failure;
        }
    }

    /** Wakes the store's own thread if it sleeps for longer than that. */
    private void wakeOwn(long laterThanMillis) {
        if (sleepsUntilMillis > laterThanMillis) {
            LockSupport.unpark(own);
        }
    }

    /** The thread that has the turn checks for work again after it, so a thread that finds it taken need not wait. */
    private void takeTurns() {
        while (hasWork() && !turn.isHeldByCurrentThread() && turn.tryLock()) {
            try {
                if (over) {
                    return;
                }
                if (processor.mayBlock()) {
                    wakeOwn(Long.MIN_VALUE);
                    return;
                }
                decide();
                wakeOwn(stopping ? Long.MIN_VALUE : dueMillis);
            } finally {
                turn.unlock();
            }
        }
    }

    private void decide() {
        batch.clear(); // A turn that failed left it.
        boolean waits = isFull() || processor.isReplied(); // The reply first, then what was asked.
        for (T something = waits ? null : withdraw(); something != null; something = withdraw()) {
            batch.add(something);
            if (batch.size() == BATCH_MAX) {
                break;
            }
        }
        dueMillis = processor.decide(batch);
    }
}
