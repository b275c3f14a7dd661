package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Rejection;
import java.util.Optional;

/** The answer to a command. Not getting the lock is an answer; only {@link Refused} is an error. */
public sealed interface Answer {
    /** The lease is the caller's. */
    record Granted(Grant grant) implements Answer {}

    /** The caller waits at {@code position}; 1 is next. */
    record Queued(int position) implements Answer {}

    /**
     * The lock was not free.
     *
     * @param holder one of the holders; empty while there is none and the lock is promised or closed
     * @param remainingMillis until the earliest end of what stands in the way, if nothing happens; not before the minimum hold time is
     *     over
     * @param minimumHoldRemainingMillis until the minimum hold time is over; 0: there is none
     * @param nowMillis the store's time of the answer
     */
    record Busy(
            Optional<Grant> holder, long remainingMillis, long minimumHoldRemainingMillis, int waiters, long nowMillis)
            implements Answer {}

    /** The wait this request stood for is over without the lock. */
    record WaitEnded(End end) implements Answer {}

    /** The lease lasts its full length from now. */
    record Renewed(Grant grant) implements Answer {}

    record Released() implements Answer {}

    record Left(boolean wasWaiting) implements Answer {}

    record Resumed(Grant grant) implements Answer {}

    /** Whether the grant was ended; false when it had ended, or a newer stream of its session had taken it over. */
    record Abandoned(boolean ended) implements Answer {}

    /** So many holders were asked to give the lock up, whether they can be reached or not. */
    record ReleaseRequested(int holders) implements Answer {}

    /** So many leases were ended; a minimum hold time that was ended without a lease counts as one. */
    record ForceReleased(int leases) implements Answer {}

    /** Whether the lease stands. */
    record Checked(boolean alive) implements Answer {}

    /** A token that no grant has or will have. */
    record Raised(FencingToken barrier) implements Answer {}

    record Described(LockState state, long nowMillis) implements Answer {}

    /** Time passed. */
    record Expired() implements Answer {}

    record Refused(Rejection rejection) implements Answer {}
}
