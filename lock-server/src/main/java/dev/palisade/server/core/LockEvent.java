package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.RequestId;
import java.util.ArrayList;
import java.util.List;

/** One change of one lock. A state is its events, applied in order to an unused lock. */
public sealed interface LockEvent {
    /** The state after this event. Total: an event is only made by the machine, for the state it is applied to. */
    LockState applyTo(LockState state);

    /** Whether a store must keep it. What is not kept can be lost in a crash without a promise being broken. */
    default boolean durable() {
        return true;
    }

    /** A free lock was granted at once. */
    record Granted(Grant grant) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state.withHolder(grant);
        }
    }

    /** A request joined the queue. */
    record Queued(Waiter waiter) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state.withWaiters(LockState.with(state.waiters(), waiter));
        }
    }

    /** A waiter left the queue with a promise. Those before it that stepped back have had their turn away. */
    record Offered(RequestId request, FencingToken token, long lapsesAtMillis) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            List<Waiter> left = new ArrayList<>(state.waiters().size());
            List<Offer> offers = new ArrayList<>(state.offers());
            boolean before = true;
            for (Waiter waiter : state.waiters()) {
                if (waiter.request().id().equals(request)) {
                    offers.add(new Offer(waiter, token, lapsesAtMillis));
                    before = false;
                } else if (before && waiter.lapse() == Waiter.Lapse.STEPS_BACK) {
                    left.add(waiter.withLapse(Waiter.Lapse.LAST_CHANCE));
                } else {
                    left.add(waiter);
                }
            }
            return state.withWaiters(List.copyOf(left)).withOffers(List.copyOf(offers));
        }
    }

    /** An offer became a lease. */
    record Accepted(GrantId grant, long atMillis) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            Offer offer = state.offer(grant).orElseThrow();
            Request request = offer.request();
            Grant held = new Grant(request, offer.token(), atMillis, atMillis + request.ttlMillis());
            return state.withOffers(LockState.without(state.offers(), offer::equals))
                    .withHolder(held);
        }
    }

    /** An offer lapsed; its waiter is back at the head for one more. */
    record Lapsed(GrantId grant) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            Offer offer = state.offer(grant).orElseThrow();
            List<Waiter> waiters = new ArrayList<>(state.waiters().size() + 1);
            waiters.add(offer.waiter().withLapse(Waiter.Lapse.STEPS_BACK));
            waiters.addAll(state.waiters());
            return state.withOffers(LockState.without(state.offers(), offer::equals))
                    .withWaiters(List.copyOf(waiters));
        }
    }

    /** An offer was taken back, which is not its waiter's doing: it is at the head again, as it was. */
    record Withdrawn(GrantId grant) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            Offer offer = state.offer(grant).orElseThrow();
            List<Waiter> waiters = new ArrayList<>(state.waiters().size() + 1);
            waiters.add(offer.waiter());
            waiters.addAll(state.waiters());
            return state.withOffers(LockState.without(state.offers(), offer::equals))
                    .withWaiters(List.copyOf(waiters));
        }
    }

    /** A request ended, whatever it had come to; {@code lockDelayUntilMillis} is 0 when no lock-delay follows. */
    record Ended(Tombstone tombstone, long lockDelayUntilMillis) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            RequestId id = tombstone.request();
            return state.withHolders(LockState.without(
                            state.holders(), g -> g.request().id().equals(id)))
                    .withOffers(LockState.without(
                            state.offers(), o -> o.request().id().equals(id)))
                    .withWaiters(LockState.without(
                            state.waiters(), w -> w.request().id().equals(id)))
                    .withLockDelayUntil(lockDelayUntilMillis)
                    .withTombstone(tombstone);
        }

        /** A failed try changed nothing; its record only serves duplicates on connections that a crash ends too. */
        @Override
        public boolean durable() {
            return tombstone.end() != End.BUSY;
        }
    }

    /**
     * An operator ended the minimum hold time.
     *
     * @param detail the operator and the reason; empty when the end of a lease has them, or when it was read from a journal
     */
    record MinimumHoldEnded(String detail) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state.withoutMinimumHold();
        }
    }

    /** A newer generation of the session speaks for this grant. */
    record Resumed(GrantId grant, long sessionGen) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state.withHolders(LockState.replaced(
                            state.holders(),
                            g -> g.id().equals(grant),
                            g -> g.withRequest(g.request().withSessionGen(sessionGen))))
                    .withWaiters(LockState.replaced(
                            state.waiters(), w -> w.request().grant().equals(grant), w -> w.keptAlive(sessionGen, 0)));
        }
    }

    /** A lease that the store had lost stands again; of its request the store may know that it waits. */
    record Reclaimed(Grant grant) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            RequestId id = grant.request().id();
            return state.withWaiters(LockState.without(
                            state.waiters(), w -> w.request().id().equals(id)))
                    .withHolder(grant);
        }
    }

    /** A lease lasts longer. Not kept: after a restart every lease starts full. */
    record Renewed(GrantId grant, long expiresAtMillis) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state.withHolders(LockState.replaced(
                    state.holders(), g -> g.id().equals(grant), g -> g.withExpiresAt(expiresAtMillis)));
        }

        @Override
        public boolean durable() {
            return false;
        }
    }

    /** A holder is requested to give the lock up. Not durable: it changes nothing, and the request can be repeated. */
    record ReleaseRequested(RequestId request, GrantId grant, String by, String why) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state;
        }

        @Override
        public boolean durable() {
            return false;
        }
    }

    /** A waiter stays in the queue until a later time. Not durable: after a restart every waiter starts alive. */
    record KeptAlive(RequestId request, long aliveUntilMillis) implements LockEvent {
        @Override
        public LockState applyTo(LockState state) {
            return state.withWaiters(LockState.replaced(
                    state.waiters(), w -> w.request().id().equals(request), w -> w.keptAlive(0, aliveUntilMillis)));
        }

        @Override
        public boolean durable() {
            return false;
        }
    }
}
