package dev.palisade.contract;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A try found the lock taken, or the wait for it ended. Nothing is held; waiting longer may help. */
public final class LockNotAcquiredException extends PalisadeException {
    private static final long serialVersionUID = 1L;

    private final LockName lock;
    private final boolean waited;

    @Nullable
    private final HolderInfo holder;

    private LockNotAcquiredException(String message, LockName lock, boolean waited, @Nullable HolderInfo holder) {
        super(message);
        this.lock = lock;
        this.waited = waited;
        this.holder = holder;
    }

    /**
     * A try found the lock taken.
     *
     * @param holder one of the holders; empty while the lock is closed or promised to a waiter
     * @param remaining when the earliest lease, or the lock-delay, ends unless it is renewed; not before the minimum hold time
     * @param minimumHoldRemaining until the minimum hold time ends; zero: there is none
     * @param waiters how many wait in the queue
     */
    public static LockNotAcquiredException busy(
            LockName lock,
            Optional<HolderInfo> holder,
            Duration remaining,
            Duration minimumHoldRemaining,
            int waiters) {
        long millis = remaining.toMillis();
        // A lease is renewed as long as its holder lives: its end says nothing about when the lock is free.
        String by = holder.map(held -> " held by " + held.owner() + " (token " + held.token()
                        + ") until it is released or not renewed for " + millis + " ms, ")
                .orElse(" closed or promised to a waiter for up to " + millis + " ms, ");
        String hold = minimumHoldRemaining.isZero()
                ? ""
                : "in its minimum hold time for " + minimumHoldRemaining.toMillis() + " ms, ";
        String message = "lock " + lock + " is" + by + hold + waiters + " waiting; wait for it or try later";
        return new LockNotAcquiredException(message, lock, false, holder.orElse(null));
    }

    /** The wait is over and the queue is left. */
    public static LockNotAcquiredException timedOut(LockName lock) {
        String message =
                "lock " + lock + " was not granted within the wait; wait longer or look at its holder with describe";
        return new LockNotAcquiredException(message, lock, true, null);
    }

    /** Which lock. */
    public LockName lock() {
        return lock;
    }

    /** True when a wait ended; false when a try found the lock taken. */
    public boolean waited() {
        return waited;
    }

    /** One of the holders that a try met; empty after a wait, and while the lock is closed or promised to a waiter. */
    public Optional<HolderInfo> holder() {
        return Optional.ofNullable(holder);
    }
}
