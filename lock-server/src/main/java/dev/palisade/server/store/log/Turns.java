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
 * Whose turn it is to decide. What is asked gathers until one thread takes all of it, one thread at a time: the store's own, which also
 * comes when time alone has something to decide; or, where a turn does not block, the thread that has asked for a few
 * things together, so that no other has to wake up for them. Knows nothing of locks.
 */
final class Turns<T> {
    private static final int BATCH_MAX = 4_096;
    /** More than this is worth waking the store's own thread for: whoever asks has the next frame to read meanwhile. */
    private static final int ELSEWHERE_MAX = 64;

    private final int askedMax;
    private final boolean wherever;
    private final long sleepMaxMillis;
    private final Decider<T> decider;
    private final Thread own;
    private final Queue<T> asked = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    /** Set on a thread that has more to ask before anybody needs to look. */
    private final ThreadLocal<Boolean> asking = new ThreadLocal<>();

    private final ReentrantLock turn = new ReentrantLock();
    private final List<T> batch = new ArrayList<>();
    /** When there is something to decide without being asked, by whoever decided last. */
    private volatile long dueMillis = Long.MAX_VALUE;

    private volatile long sleepsUntilMillis = Long.MIN_VALUE;
    private volatile boolean stopping;
    private boolean over;

    /** Decides what was asked. */
    interface Decider<T> {
        /** @return when there is something to decide without being asked, in the store's time */
        long decide(List<T> asked);

        long nowMillis();

        /** The store's own thread ends by this; not called for what a turn threw. */
        void failed(RuntimeException failure);
    }

    /**
     * @param askedMax that may wait for a turn
     * @param wherever turns do not block, so any thread that may not be interrupted can take one
     * @param sleepMaxMillis after which its own thread looks at the time in any case
     */
    Turns(String thread, int askedMax, boolean wherever, long sleepMaxMillis, Decider<T> decider) {
        this.askedMax = askedMax;
        this.wherever = wherever;
        this.sleepMaxMillis = sleepMaxMillis;
        this.decider = decider;
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
        if (asking.get() == null) {
            wakeOwn(Long.MIN_VALUE);
        }
        return true;
    }

    /** Runs {@code asks} and lets nobody wake up before its end. May take turns then; so not for a thread that may be interrupted. */
    void together(Runnable asks) {
        asking.set(true);
        try {
            asks.run();
        } finally {
            asking.remove();
            if (!asked.isEmpty()) {
                if (wherever && count.get() <= ELSEWHERE_MAX) {
                    takeTurns();
                } else {
                    wakeOwn(Long.MIN_VALUE);
                }
            }
        }
    }

    /** Takes back what nobody will decide any more; null when there is nothing. */
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
        while (!stopping || !asked.isEmpty()) {
            ownTurn();
            sleep();
        }
    }

    /** Takes a turn on this thread, as the own one does when it wakes. */
    void ownTurn() {
        turn.lock();
        try {
            decide();
        } finally {
            turn.unlock();
        }
    }

    private void sleep() {
        long until = dueMillis;
        long millis = Math.min(until - decider.nowMillis(), sleepMaxMillis);
        sleepsUntilMillis = until;
        // Looked at after it was said for how long: who comes later wakes this thread, who came before is seen here.
        if (millis > 0 && asked.isEmpty() && !stopping && dueMillis >= until) {
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(millis));
        }
        sleepsUntilMillis = Long.MIN_VALUE;
        if (Thread.interrupted()) {
            IllegalStateException failure = new IllegalStateException("nobody may interrupt the store's writer");
            decider.failed(failure);
            throw failure;
        }
    }

    /** Wakes the store's own thread if it sleeps for longer than that. */
    private void wakeOwn(long laterThanMillis) {
        if (sleepsUntilMillis > laterThanMillis) {
            LockSupport.unpark(own);
        }
    }

    /** Whoever has a turn looks again after it: who finds the turn taken need not wait. */
    private void takeTurns() {
        while (!asked.isEmpty() && !turn.isHeldByCurrentThread() && turn.tryLock()) {
            try {
                if (over) {
                    return;
                }
                decide();
                wakeOwn(dueMillis);
            } finally {
                turn.unlock();
            }
        }
    }

    private void decide() {
        batch.clear(); // A turn that failed left it.
        for (T something = withdraw(); something != null; something = withdraw()) {
            batch.add(something);
            if (batch.size() == BATCH_MAX) {
                break;
            }
        }
        dueMillis = decider.decide(batch);
    }
}
