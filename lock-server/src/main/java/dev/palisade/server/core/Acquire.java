package dev.palisade.server.core;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import java.util.Optional;

/**
 * Asks for the lock.
 *
 * @param waitMillis how long to stay in the queue; 0 tries once
 * @param ageMillis how long ago the request was first sent
 * @param aliveUntilMillis when a waiter is given up unless the request is repeated; {@link Long#MAX_VALUE} where the store
 *     is told of a death
 */
public record Acquire(LockName lock, Request request, long waitMillis, long ageMillis, long aliveUntilMillis)
        implements Command {
    @Override
    public Answer decide(Step step) {
        return known(step).orElseGet(() -> decideNew(step));
    }

    /** The answer to a request that was seen before: the same one, as far as it still stands. */
    private Optional<Answer> known(Step step) {
        LockState state = step.state();
        if (differsFromFirst(state)) {
            return Optional.of(step.refuse(
                    Reason.MALFORMED_REQUEST,
                    "request " + Long.toUnsignedString(request.id().number())
                            + " was sent before with another mode, ttl_millis, lock_delay_millis or "
                            + "lock_at_least_for_millis; send the same again, or use a new request id"));
        }
        Optional<Offer> offer = state.offer(request.id());
        if (offer.isPresent()) {
            // Asking again is a sign of life that came after the offer was made: as good as accepting it.
            step.emit(new LockEvent.Accepted(offer.get().request().grant(), step.nowMillis()));
            state = step.state();
        }
        Optional<Grant> held = state.holder(request.id());
        if (held.isPresent()) {
            step.adoptGeneration(held.get().request(), request.sessionGen());
            // The caller counts its lease from this sending, so the lease must last as long.
            return Optional.of(new Answer.Granted(
                    step.renew(step.state().holder(request.id()).orElseThrow())));
        }
        Optional<Waiter> waiter = state.waiter(request.id());
        if (waiter.isPresent()) {
            step.adoptGeneration(waiter.get().request(), request.sessionGen());
            step.emit(new LockEvent.KeptAlive(request.id(), aliveUntilMillis));
            return Optional.of(new Answer.Queued(step.state().position(request.id())));
        }
        return state.tombstone(request.id()).map(ended -> ended.end() == End.BUSY ? busy(step) : ended.answer(lock));
    }

    /** Whether the request stands and asked for another lease. The end of a request does not say what it had asked for. */
    private boolean differsFromFirst(LockState state) {
        return state.offer(request.id())
                .map(Offer::request)
                .or(() -> state.holder(request.id()).map(Grant::request))
                .or(() -> state.waiter(request.id()).map(Waiter::request))
                .filter(first -> first.mode() != request.mode()
                        || first.ttlMillis() != request.ttlMillis()
                        || first.lockDelayMillis() != request.lockDelayMillis()
                        || first.lockAtLeastForMillis() != request.lockAtLeastForMillis())
                .isPresent();
    }

    private Answer decideNew(Step step) {
        LockState state = step.state();
        if (ageMillis > step.limits().acquireAgeMaxMillis()
                || (ageMillis > 0 && step.nowMillis() - ageMillis <= state.forgottenUntilMillis())) {
            return step.refuse(
                    Reason.LEASE_EXPIRED,
                    "request " + request.id().number() + " was first sent " + ageMillis
                            + " ms ago and its end is no longer known; acquire again with a new request id");
        }
        if (!step.tokensLeft()) {
            return step.refuseNoToken();
        }
        boolean free = state.waiters().isEmpty()
                && state.offers().isEmpty()
                && state.closedUntilMillis() <= step.nowMillis()
                && state.admits(request.mode());
        boolean full = free && state.holders().size() >= step.limits().holdersPerLockMax();
        if (full && waitMillis == 0) {
            return step.refuse(
                    Reason.LIMIT_EXCEEDED,
                    "holdersPerLockMax is " + step.limits().holdersPerLockMax() + "; try later, or wait");
        }
        if (free && !full && !step.recovering()) {
            return grant(step);
        }
        if (waitMillis == 0 && step.recovering() && nothingKnownStandsInTheWay(step)) {
            return step.refuseRecovering();
        }
        if (waitMillis == 0) {
            Answer busy = busy(step);
            step.end(request, 0, End.BUSY, 0);
            return busy;
        }
        if (state.waiters().size() >= step.limits().waitersPerLockMax()) {
            return step.refuse(
                    Reason.QUEUE_FULL, "waitersPerLockMax is " + step.limits().waitersPerLockMax() + "; try later");
        }
        step.emit(new LockEvent.Queued(new Waiter(
                request, step.nowMillis(), step.nowMillis() + waitMillis, aliveUntilMillis, Waiter.Lapse.NONE)));
        return new Answer.Queued(step.state().position(request.id()));
    }

    /** A waiter does not know yet which holder it waits for. */
    private boolean nothingKnownStandsInTheWay(Step step) {
        return step.state().closedUntilMillis() <= step.nowMillis()
                && step.state().admits(request.mode());
    }

    private Answer grant(Step step) {
        long now = step.nowMillis();
        Grant grant = new Grant(request, step.nextToken(), now, now + request.ttlMillis());
        step.emit(new LockEvent.Granted(grant));
        return new Answer.Granted(grant);
    }

    private Answer busy(Step step) {
        LockState state = step.state();
        return new Answer.Busy(
                state.holders().stream().findFirst(),
                Math.max(0, inTheWayUntil(state, step.nowMillis()) - step.nowMillis()),
                Math.max(0, state.minimumHoldUntilMillis() - step.nowMillis()),
                state.waiters().size() + state.offers().size(),
                step.nowMillis());
    }

    /** When the first of what stands in the way ends, but not before the minimum hold time; the past when nothing does. */
    private long inTheWayUntil(LockState state, long nowMillis) {
        long first = state.lockDelayUntilMillis() > nowMillis ? state.lockDelayUntilMillis() : Long.MAX_VALUE;
        for (Offer offer : state.offers()) {
            first = Math.min(first, offer.lapsesAtMillis());
        }
        for (Grant grant : state.holders()) {
            if (request.mode() == Mode.EXCLUSIVE || grant.mode() == Mode.EXCLUSIVE) {
                first = Math.min(first, grant.expiresAtMillis());
            }
        }
        if (first == Long.MAX_VALUE) {
            // Only waiters, and they wait for the holders.
            for (Grant grant : state.holders()) {
                first = Math.min(first, grant.expiresAtMillis());
            }
        }
        return Math.max(first == Long.MAX_VALUE ? 0 : first, state.minimumHoldUntilMillis());
    }
}
