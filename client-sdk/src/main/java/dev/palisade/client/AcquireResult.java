package dev.palisade.client;

import dev.palisade.contract.Rejection;
import java.time.Duration;
import java.util.Optional;

/** What came of an acquire. Not getting the lock is an answer, not an error. */
public sealed interface AcquireResult {
    /**
     * The lock is held.
     *
     * @param lease to be released by whoever receives this
     */
    record Granted(Lease lease) implements AcquireResult {}

    /**
     * A try found the lock taken.
     *
     * @param holder one of the holders; empty while the lock is closed by a lock-delay or promised to a waiter
     * @param remaining when the earliest lease, or the lock-delay, ends if nothing happens; a holder that lives renews its lease and
     *     keeps the lock for longer
     * @param waiters how many wait in the queue
     */
    record Busy(Optional<HolderInfo> holder, Duration remaining, int waiters) implements AcquireResult {}

    /** The wait is over, the lock was not granted and the queue is left. */
    record TimedOut() implements AcquireResult {}

    /**
     * Nobody could say: no server answered in time, or it can grant nothing now, or a guard did not claim for the lock.
     * Nothing is held.
     *
     * @param rejection why, and what to do; its metadata may name when a retry is sensible
     */
    record Unavailable(Rejection rejection) implements AcquireResult {}
}
