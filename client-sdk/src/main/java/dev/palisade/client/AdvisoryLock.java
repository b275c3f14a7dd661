package dev.palisade.client;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A distributed lock as {@link Lock}, for code that is written against it. <b>Advisory</b>: this interface has no place
 * for a fencing token, so nothing that is done between {@link #lock()} and {@link #unlock()} is refused when the lease
 * has been lost meanwhile, unless the calls carry the {@link #lease()}. New code is better off with
 * {@link PalisadeClient#acquire(String)} or {@link PalisadeClient#callLocked}.
 *
 * <p>EXCLUSIVE, and held by a thread as {@link java.util.concurrent.locks.ReentrantLock} is: the same thread may lock
 * again, by this object or another one of the same client and name, and unlocks as often. Unlike there the queue is
 * fair, also for {@link #tryLock()}, which lets waiters go first, and a holder can lose the lock: then locking again
 * and unlocking throw {@link LeaseLostException}. A thread that ends without unlocking leaves the lock held for the
 * life of the client. Safe for use by many threads.
 *
 * <p>Every method that takes the lock throws {@link LockUnavailableException} when no server could say or a limit of
 * the server is reached, and {@link RejectedException} when the server refuses the request. Those that wait without
 * limit never return without the lock: a server that ends such a wait all the same shows as
 * {@link LockNotAcquiredException}.
 */
public final class AdvisoryLock implements Lock {
    /** A key of the map of holds: one thread and one lock. Only that thread uses the deque. */
    record Holder(LockName lock, Thread thread) {}

    private final Session session;
    private final LockName name;
    private final AcquireOptions options;
    private final Map<Holder, Deque<LeaseHandle>> holds;

    /** @param holds of all advisory locks of the client */
    AdvisoryLock(Session session, LockName name, AcquireOptions options, Map<Holder, Deque<LeaseHandle>> holds) {
        if (options.mode() != Mode.EXCLUSIVE) {
            throw new IllegalArgumentException(
                    "an advisory lock is EXCLUSIVE, not " + options.mode() + "; acquire SHARED leases by the client");
        }
        this.session = session;
        this.name = name;
        this.options = options;
        this.holds = holds;
    }

    /**
     * Takes the lock, waiting without limit. An interrupt does not end the wait; the flag is set on return.
     *
     * @throws LeaseLostException when this thread holds the lock already and has lost it; unlock it first
     */
    @Override
    public void lock() {
        if (!reentered()) {
            Acquire acquire = session.acquire(name, options.within(AcquireOptions.WAIT_ENDLESS));
            AcquireResult result = session.blockingWait().uninterruptibly(acquire.result());
            if (!taken(result)) {
                throw LockNotAcquiredException.timedOut(name);
            }
        }
    }

    /**
     * Takes the lock, waiting without limit. When interrupted the queue is left and nothing is held.
     *
     * @throws LeaseLostException when this thread holds the lock already and has lost it; unlock it first
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (!reenteredUninterrupted()) {
            AcquireResult result = acquired(AcquireOptions.WAIT_ENDLESS);
            if (!taken(result)) {
                throw LockNotAcquiredException.timedOut(name);
            }
        }
    }

    /**
     * Takes the lock if it is free now and has no waiters. Asks the server, so it may block, at most for the
     * client's call timeout; an interrupt does not end that, and the flag is set on return.
     *
     * @throws LeaseLostException when this thread holds the lock already and has lost it; unlock it first
     */
    @Override
    public boolean tryLock() {
        Acquire acquire = reentered() ? null : session.acquire(name, options.within(Duration.ZERO));
        return acquire == null || taken(session.blockingWait().uninterruptibly(acquire.result()));
    }

    /**
     * Takes the lock, waiting at most for {@code time}; zero or less tries once. When interrupted the queue is left and
     * nothing is held.
     *
     * @throws LeaseLostException when this thread holds the lock already and has lost it; unlock it first
     */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return reenteredUninterrupted() || taken(acquired(Duration.ofNanos(Math.max(0, unit.toNanos(time)))));
    }

    /**
     * Gives up one hold, and the lock with the last. Blocks for the server's answer, at most for the call timeout; not
     * when holds are left.
     *
     * @throws IllegalMonitorStateException when this thread does not hold the lock
     * @throws LeaseLostException when the lease was lost: what was done since may be unprotected, and this is the last
     *     chance to say so. The hold is given up all the same.
     */
    @Override
    public void unlock() {
        Holder me = me();
        Deque<LeaseHandle> mine = held(me);
        LeaseHandle last = mine.pop();
        if (mine.isEmpty()) {
            holds.remove(me);
        }
        LostReason loss = last.end();
        if (loss != null) {
            throw LeaseLostException.beforeWorkEnded(name, last.token(), loss);
        }
    }

    /** @throws UnsupportedOperationException always: a waiter in another process could not be woken */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "an advisory lock has no conditions; wait for your data, not for the lock");
    }

    /**
     * The lease behind the innermost hold of this thread. A call that carries its sequencer is checked by the guard, so
     * such a lock is no longer only advisory. {@link #unlock()} closes the lease; re-enter the lease to keep it longer.
     *
     * @throws IllegalMonitorStateException when this thread does not hold the lock
     */
    public Lease lease() {
        return held(me()).element();
    }

    @Override
    public String toString() {
        return "AdvisoryLock(" + name + ")";
    }

    private boolean reenteredUninterrupted() throws InterruptedException {
        BlockingWait.checkInterrupt();
        return reentered();
    }

    private AcquireResult acquired(Duration wait) throws InterruptedException {
        Acquire acquire = session.acquire(name, options.within(wait));
        return session.blockingWait()
                .interruptibly(acquire.result(), () -> session.loop().execute(acquire::abandon));
    }

    private boolean reentered() {
        Deque<LeaseHandle> mine = holds.get(me());
        if (mine == null) {
            return false;
        }
        mine.push(mine.element().reenter());
        return true;
    }

    private boolean taken(AcquireResult result) {
        if (result instanceof AcquireResult.Granted granted) {
            Deque<LeaseHandle> mine = new ArrayDeque<>();
            mine.push((LeaseHandle) granted.lease());
            holds.put(me(), mine);
            return true;
        }
        if (result instanceof AcquireResult.Unavailable unavailable) {
            throw new LockUnavailableException(name, unavailable.rejection());
        }
        return false;
    }

    private Holder me() {
        return new Holder(name, Thread.currentThread());
    }

    private Deque<LeaseHandle> held(Holder me) {
        Deque<LeaseHandle> mine = holds.get(me);
        if (mine == null) {
            throw new IllegalMonitorStateException(
                    "lock " + name + " is not held by this thread; only the thread that took an"
                            + " advisory lock can use or unlock it");
        }
        return mine;
    }
}
