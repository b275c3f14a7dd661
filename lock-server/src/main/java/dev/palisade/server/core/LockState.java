package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * All that is known of one lock. Immutable; it changes by {@link LockEvent}s only.
 *
 * @param waiters first come, first
 * @param tombstones the ends that are remembered
 * @param lockDelayUntilMillis end of the lock-delay; 0 when there was none
 * @param minimumHoldUntilMillis end of the minimum hold time of the latest grant that asked for one; 0 when there is none
 * @param forgottenUntilMillis the end of some request at or before this time was forgotten early; an unknown acquire that
 *     was first sent before it is refused
 */
public record LockState(
        LockName name,
        List<Grant> holders,
        List<Offer> offers,
        List<Waiter> waiters,
        Tombstones tombstones,
        long lockDelayUntilMillis,
        long minimumHoldUntilMillis,
        long forgottenUntilMillis) {

    /** A lock that was never used, or whose last use is forgotten. */
    public static LockState unused(LockName name, long forgottenUntilMillis) {
        return new LockState(name, List.of(), List.of(), List.of(), Tombstones.NONE, 0, 0, forgottenUntilMillis);
    }

    /**
     * This state as a restarted store begins with it: the time while it was down does not count. Every lease and every offer lasts
     * its full length, and every waiter has as long to be heard of again.
     */
    public LockState restarted(long nowMillis) {
        return withHolders(LockState.replaced(
                        holders,
                        g -> true,
                        g -> g.withExpiresAt(nowMillis + g.request().ttlMillis())))
                .withOffers(LockState.replaced(
                        offers,
                        o -> true,
                        o -> o.withLapsesAt(nowMillis + o.request().ttlMillis())
                                .withWaiter(o.waiter()
                                        .withAliveUntil(nowMillis + o.request().ttlMillis()))))
                .withWaiters(LockState.replaced(
                        waiters,
                        w -> true,
                        w -> w.withAliveUntil(nowMillis + w.request().ttlMillis())));
    }

    /** Until then no grant or offer is made: the end of the lock-delay or of the minimum hold time, whichever is later. */
    public long closedUntilMillis() {
        return Math.max(lockDelayUntilMillis, minimumHoldUntilMillis);
    }

    /** Whether anybody holds, was offered or waits for the lock, or it is closed. */
    public boolean inUse(long nowMillis) {
        return !holders.isEmpty() || !offers.isEmpty() || !waiters.isEmpty() || closedUntilMillis() > nowMillis;
    }

    /** When time alone next changes this state; {@link Long#MAX_VALUE} when never. */
    public long nextDeadlineMillis(long nowMillis) {
        // As long as the EXCLUSIVE lease stands, its end comes first: then this is asked again.
        long opens = holders.isEmpty() && offers.isEmpty() ? closedUntilMillis() : lockDelayUntilMillis;
        long next = waiters.isEmpty() || opens <= nowMillis ? Long.MAX_VALUE : opens;
        for (Grant grant : holders) {
            next = Math.min(next, grant.expiresAtMillis());
        }
        for (Offer offer : offers) {
            next = Math.min(next, offer.lapsesAtMillis());
        }
        for (Waiter waiter : waiters) {
            next = Math.min(next, Math.min(waiter.waitUntilMillis(), waiter.aliveUntilMillis()));
        }
        return next;
    }

    /** When nothing is left of this lock but forgotten ends; only meaningful once it is not {@link #inUse}. */
    public long forgettableAtMillis() {
        return Math.max(tombstones.latestMillis() + Limits.TOMBSTONE_MILLIS, closedUntilMillis());
    }

    /** The lease that accepting the offer to {@code id} would make, ending when the offer lapses. */
    public Optional<Grant> promised(RequestId id) {
        return offer(id)
                .map(offer -> new Grant(
                        offer.request(), offer.token(), offer.waiter().queuedAtMillis(), offer.lapsesAtMillis()));
    }

    Optional<Grant> holder(GrantId id) {
        return first(holders, grant -> grant.id().equals(id));
    }

    Optional<Grant> holder(RequestId id) {
        return first(holders, grant -> grant.request().id().equals(id));
    }

    Optional<Offer> offer(GrantId id) {
        return first(offers, offer -> offer.request().grant().equals(id));
    }

    Optional<Offer> offer(RequestId id) {
        return first(offers, offer -> offer.request().id().equals(id));
    }

    Optional<Waiter> waiter(RequestId id) {
        return first(waiters, waiter -> waiter.request().id().equals(id));
    }

    Optional<Waiter> waiter(GrantId id) {
        return first(waiters, waiter -> waiter.request().grant().equals(id));
    }

    /** The newest recorded end. */
    Optional<Tombstone> tombstone(RequestId id) {
        return tombstones.of(id);
    }

    Optional<Tombstone> tombstone(GrantId id) {
        return tombstones.of(id);
    }

    /** 1 for the head. */
    int position(RequestId id) {
        for (int i = 0; i < waiters.size(); i++) {
            if (waiters.get(i).request().id().equals(id)) {
                return i + 1;
            }
        }
        return 0;
    }

    /** Whether no holder and no offer of the lock conflicts with {@code mode}. */
    boolean admits(Mode mode) {
        if (mode == Mode.EXCLUSIVE) {
            return holders.isEmpty() && offers.isEmpty();
        }
        return holders.stream().allMatch(grant -> grant.mode() == Mode.SHARED)
                && offers.stream().allMatch(offer -> offer.request().mode() == Mode.SHARED);
    }

    LockState withHolders(List<Grant> changed) {
        return with(changed, offers, waiters, tombstones, lockDelayUntilMillis, minimumHoldUntilMillis);
    }

    /** With one more holder, whose minimum hold time begins. */
    LockState withHolder(Grant grant) {
        long hold = Math.max(minimumHoldUntilMillis, grant.minimumHoldUntilMillis());
        return with(with(holders, grant), offers, waiters, tombstones, lockDelayUntilMillis, hold);
    }

    LockState withOffers(List<Offer> changed) {
        return with(holders, changed, waiters, tombstones, lockDelayUntilMillis, minimumHoldUntilMillis);
    }

    LockState withWaiters(List<Waiter> changed) {
        return with(holders, offers, changed, tombstones, lockDelayUntilMillis, minimumHoldUntilMillis);
    }

    LockState withLockDelayUntil(long millis) {
        long delay = Math.max(lockDelayUntilMillis, millis);
        return with(holders, offers, waiters, tombstones, delay, minimumHoldUntilMillis);
    }

    LockState withoutMinimumHold() {
        return with(holders, offers, waiters, tombstones, lockDelayUntilMillis, 0);
    }

    private LockState with(
            List<Grant> newHolders,
            List<Offer> newOffers,
            List<Waiter> newWaiters,
            Tombstones newTombstones,
            long delayUntilMillis,
            long holdUntilMillis) {
        return new LockState(
                name,
                newHolders,
                newOffers,
                newWaiters,
                newTombstones,
                delayUntilMillis,
                holdUntilMillis,
                forgottenUntilMillis);
    }

    LockState withTombstone(Tombstone tombstone) {
        return with(holders, offers, waiters, tombstones.with(tombstone), lockDelayUntilMillis, minimumHoldUntilMillis)
                .withForgottenUntil(tombstones.forgottenEarlyBy(tombstone));
    }

    /** The same, of which some end at or before {@code millis} was forgotten early. */
    public LockState withForgottenUntil(long millis) {
        return new LockState(
                name,
                holders,
                offers,
                waiters,
                tombstones,
                lockDelayUntilMillis,
                minimumHoldUntilMillis,
                Math.max(forgottenUntilMillis, millis));
    }

    static <T> List<T> with(List<T> list, T added) {
        List<T> changed = new ArrayList<>(list.size() + 1);
        changed.addAll(list);
        changed.add(added);
        return List.copyOf(changed);
    }

    static <T> List<T> without(List<T> list, Predicate<T> gone) {
        List<T> changed = new ArrayList<>(list.size());
        for (T item : list) {
            if (!gone.test(item)) {
                changed.add(item);
            }
        }
        return List.copyOf(changed);
    }

    static <T> List<T> replaced(List<T> list, Predicate<T> which, UnaryOperator<T> by) {
        List<T> changed = new ArrayList<>(list.size());
        for (T item : list) {
            changed.add(which.test(item) ? by.apply(item) : item);
        }
        return List.copyOf(changed);
    }

    private static <T> Optional<T> first(List<T> list, Predicate<T> wanted) {
        for (T item : list) {
            if (wanted.test(item)) {
                return Optional.of(item);
            }
        }
        return Optional.empty();
    }
}
