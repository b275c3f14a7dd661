package dev.palisade.client;

import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.Rejection;
import java.time.Duration;
import java.util.Optional;

/** What came of an acquire. Not getting the lock is an answer, not an error. */
public sealed interface AcquireResult {
    /**
     * The lock is held.
     *
     * @param lease to be released by the receiver of this result
     */
    record Granted(Lease lease) implements AcquireResult {}

    /**
     * A try found the lock taken.
     *
     * @param holder one of the holders; empty while the lock is promised to a waiter, or closed by a lock-delay or a
     *     minimum hold time
     * @param remaining when the earliest lease, or the lock-delay, ends if nothing happens, but not before the minimum
     *     hold time; a holder that lives renews its lease and keeps the lock for longer
     * @param minimumHoldRemaining until the minimum hold time ends; zero: there is none
     * @param waiters how many wait in the queue
     */
    record Busy(Optional<HolderInfo> holder, Duration remaining, Duration minimumHoldRemaining, int waiters)
            implements AcquireResult {}

    /** The wait is over, the lock was not granted and the queue is left. */
    record TimedOut() implements AcquireResult {}

    /**
     * Unknown: no server replied in time, or it can grant nothing now, or a guard did not claim for the lock.
     * This client holds nothing.
     *
     * @param rejection why, and what to do; its metadata may name when a retry is sensible
     */
    record Unavailable(Rejection rejection) implements AcquireResult {}
}
