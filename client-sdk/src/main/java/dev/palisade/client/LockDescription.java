package dev.palisade.client;

import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A lock as the server saw it when it answered. For people and dashboards: it is out of date when it arrives.
 *
 * @param lock which lock
 * @param holders empty: nobody; several: all SHARED; at most 100 of them
 * @param holdersTotal all holders, also those left out of {@code holders}
 * @param waiters the queue in its order, at most the first 100
 * @param waitersTotal all waiters, also those left out of {@code waiters}
 * @param lockDelayRemaining how long the lock stays closed after a holder's unclean end; zero: it is not
 * @param minimumHoldRemaining until the minimum hold time ends ({@link AcquireOptions#lockAtLeastFor}), also while its
 *     lease stands; zero: there is none
 * @param epoch the epoch that the lock's tokens are of; empty in a list, from an older server, and when the server has
 *     not met it
 */
public record LockDescription(
        LockName lock,
        List<HolderInfo> holders,
        int holdersTotal,
        List<Waiter> waiters,
        int waitersTotal,
        Duration lockDelayRemaining,
        Duration minimumHoldRemaining,
        Optional<StoreDescription.Epoch> epoch) {
    public LockDescription {
        holders = List.copyOf(holders);
        waiters = List.copyOf(waiters);
    }

    /**
     * One place in the queue.
     *
     * @param owner what the waiter calls itself; may be empty
     * @param purpose why it wants the lock; may be empty
     * @param mode how it wants the lock
     * @param waited for how long so far
     * @param offered whether the lock is promised to this waiter and not yet accepted
     * @param session which session, as in {@link Operations#sessions}; empty from an older server
     * @param principal whom the lock server authenticated; empty without authentication, and where another server did
     */
    public record Waiter(
            String owner,
            String purpose,
            Mode mode,
            Duration waited,
            boolean offered,
            String session,
            String principal) {}
}
