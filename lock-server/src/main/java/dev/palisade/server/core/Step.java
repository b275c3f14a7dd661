package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One step of the machine while it is being decided: the state so far and the events that made it. Used once. */
final class Step {
    private final long nowMillis;
    private final long recoveringUntilMillis;
    private final Limits limits;
    private final List<LockEvent> events = new ArrayList<>(2);
    private LockState state;
    private long lastToken;

    Step(LockState state, long nowMillis, long lastToken, long recoveringUntilMillis, Limits limits) {
        this.state = state;
        this.nowMillis = nowMillis;
        this.lastToken = lastToken;
        this.recoveringUntilMillis = recoveringUntilMillis;
        this.limits = limits;
    }

    LockState state() {
        return state;
    }

    long nowMillis() {
        return nowMillis;
    }

    Limits limits() {
        return limits;
    }

    Decision decision(Answer answer) {
        return new Decision(state, answer, List.copyOf(events), lastToken);
    }

    void emit(LockEvent event) {
        state = event.applyTo(state);
        events.add(event);
    }

    boolean tokensLeft() {
        return lastToken <= FencingToken.MAX - FencingToken.PER_GRANT;
    }

    /** Whether leases may stand that the store has lost. */
    boolean recovering() {
        return nowMillis < recoveringUntilMillis;
    }

    /** The first of as many as a grant has. */
    FencingToken nextToken() {
        FencingToken token = new FencingToken(lastToken + 1);
        lastToken += FencingToken.PER_GRANT;
        return token;
    }

    Answer refuse(Reason reason, String message) {
        return new Answer.Refused(new Rejection(
                reason, message, Map.of(Rejection.LOCK, state.name().value())));
    }

    Answer refuseRecovering() {
        long left = recoveringUntilMillis - nowMillis;
        return new Answer.Refused(new Rejection(
                Reason.RECOVERING,
                "the store lost some of its past and waits " + left
                        + " ms for holders it may have forgotten; try again then",
                Map.of(
                        Rejection.LOCK, state.name().value(),
                        Rejection.RETRY_AFTER_MILLIS, Long.toString(left),
                        Rejection.APPLIED, "no")));
    }

    Answer refuseNoToken() {
        return refuse(Reason.TOKENS_EXHAUSTED, "no fencing token is left below 2^53; this store can grant no more");
    }

    /** Says how and when the lease ended, for people and, in the metadata, for programs. */
    Answer refuseEnded(Tombstone ended, String what) {
        String detail = ended.detail().isEmpty() ? "" : ", " + ended.detail();
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(Rejection.LOCK, state.name().value());
        metadata.put(Rejection.ENDED, ended.end().name());
        if (!detail.isEmpty()) {
            metadata.put(Rejection.DETAIL, ended.detail());
        }
        return new Answer.Refused(new Rejection(
                Reason.LEASE_EXPIRED,
                what + "the lease ended (" + ended.end() + detail + ") " + (nowMillis - ended.endedAtMillis())
                        + " ms ago; acquire again",
                metadata));
    }

    /** Ends a request for good. */
    void end(Request request, long token, End end, long lockDelayUntilMillis) {
        end(request, token, end, lockDelayUntilMillis, "");
    }

    private void end(Request request, long token, End end, long lockDelayUntilMillis, String detail) {
        emit(new LockEvent.Ended(
                new Tombstone(request.id(), request.grant(), token, end, nowMillis, detail), lockDelayUntilMillis));
    }

    void endGrant(Grant grant, End end) {
        endGrant(grant, end, "");
    }

    /** @param detail who ended it and why, when a person did; the cause of an abandoned one */
    void endGrant(Grant grant, End end, String detail) {
        long delay = end.closesTheLock() ? grant.request().lockDelayMillis() : 0;
        long from = end == End.EXPIRED ? grant.expiresAtMillis() : nowMillis;
        end(grant.request(), grant.token().value(), end, delay == 0 ? 0 : from + delay, detail);
    }

    /** Moves the request to a newer stream of its session; an older stream can no longer end it. */
    void adoptGeneration(Request request, long sessionGen) {
        if (sessionGen > request.sessionGen()) {
            emit(new LockEvent.Resumed(request.grant(), sessionGen));
        }
    }

    /** Gives a lease its full length from now. */
    Grant renew(Grant grant) {
        emit(new LockEvent.Renewed(grant.id(), nowMillis + grant.request().ttlMillis()));
        return state.holder(grant.id()).orElseThrow();
    }

    /** Everything that time alone has ended. */
    void passTime() {
        for (Grant grant : state.holders()) {
            if (grant.expiresAtMillis() <= nowMillis) {
                endGrant(grant, End.EXPIRED);
            } else if (grant.expiresAtMillis() - nowMillis > grant.request().ttlMillis()) {
                // The clock was set back: no lease lasts longer than its length.
                renew(grant);
            }
        }
        List<Offer> offers = state.offers();
        for (int i = offers.size() - 1; i >= 0; i--) {
            // From the last to the first: each goes to the head, and those that lapse together keep their order.
            if (recovering()) {
                // It may have lapsed since, and the lock may be another's: it is made again, with a newer token.
                emit(new LockEvent.Withdrawn(offers.get(i).request().grant()));
            } else if (offers.get(i).lapsesAtMillis() <= nowMillis) {
                lapse(offers.get(i));
            }
        }
        for (Waiter waiter : state.waiters()) {
            if (waiter.waitUntilMillis() <= nowMillis) {
                end(waiter.request(), 0, End.TIMED_OUT, 0);
            } else if (waiter.aliveUntilMillis() <= nowMillis) {
                end(waiter.request(), 0, End.DROPPED, 0);
            }
        }
        handOff();
    }

    private void lapse(Offer offer) {
        if (offer.waiter().lapse() == Waiter.Lapse.NONE) {
            emit(new LockEvent.Lapsed(offer.request().grant()));
        } else {
            end(offer.request(), offer.token().value(), End.DROPPED, 0);
        }
    }

    /** Offers a free lock to the next waiters: one EXCLUSIVE waiter, or the SHARED ones that stand together. */
    void handOff() {
        while (tokensLeft()
                && !recovering()
                && nowMillis >= state.closedUntilMillis()
                && !state.waiters().isEmpty()) {
            Waiter next = next();
            if (!state.admits(next.request().mode())
                    || state.holders().size() + state.offers().size() >= limits.holdersPerLockMax()) {
                return;
            }
            emit(new LockEvent.Offered(next.request().id(), nextToken(), nowMillis + limits.offerMillis()));
        }
    }

    private Waiter next() {
        for (Waiter waiter : state.waiters()) {
            if (waiter.lapse() != Waiter.Lapse.STEPS_BACK) {
                return waiter;
            }
        }
        return state.waiters().get(0);
    }
}
