package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RequestId;
import java.util.Iterator;
import java.util.Optional;

/** What a decision is told as in the history of its lock. Pure; keeps nothing. */
public final class Telling {
    private Telling() {}

    /** Hears of one thing that happened. */
    @FunctionalInterface
    public interface Listener {
        /**
         * @param token 0 when the request had none yet
         * @param detail who did it and why, when a person did; the purpose of what was granted or queued; else empty
         */
        void happened(LockName lock, long atMillis, HistoryEntry.What what, Request request, long token, String detail);
    }

    /** @param before the state that was decided upon */
    public static void of(LockState before, Decision decision, long nowMillis, Listener listener) {
        LockName lock = before.name();
        LockState state = before;
        Iterator<LockEvent> events = decision.events().iterator();
        while (events.hasNext()) {
            LockEvent event = events.next();
            told(state, lock, event, nowMillis, listener);
            if (events.hasNext()) { // One step may queue, offer and accept: each is told of what stands by then.
                state = event.applyTo(state);
            }
        }
    }

    private static void told(LockState state, LockName lock, LockEvent event, long nowMillis, Listener listener) {
        if (event instanceof LockEvent.Granted granted) {
            Grant grant = granted.grant();
            listener.happened(
                    lock,
                    nowMillis,
                    HistoryEntry.What.GRANTED,
                    grant.request(),
                    grant.token().value(),
                    grant.request().purpose());
        } else if (event instanceof LockEvent.Reclaimed reclaimed) {
            Grant grant = reclaimed.grant();
            listener.happened(
                    lock,
                    nowMillis,
                    HistoryEntry.What.RECLAIMED,
                    grant.request(),
                    grant.token().value(),
                    grant.request().purpose());
        } else if (event instanceof LockEvent.Queued queued) {
            Request request = queued.waiter().request();
            listener.happened(lock, nowMillis, HistoryEntry.What.QUEUED, request, 0, request.purpose());
        } else if (event instanceof LockEvent.Offered offered) {
            asked(state, offered.request())
                    .ifPresent(request -> listener.happened(
                            lock,
                            nowMillis,
                            HistoryEntry.What.OFFERED,
                            request,
                            offered.token().value(),
                            ""));
        } else if (event instanceof LockEvent.Accepted accepted) {
            standing(state, accepted.grant(), HistoryEntry.What.ACCEPTED, "", nowMillis, listener);
        } else if (event instanceof LockEvent.Lapsed lapsed) {
            standing(state, lapsed.grant(), HistoryEntry.What.LAPSED, "", nowMillis, listener);
        } else if (event instanceof LockEvent.Withdrawn withdrawn) {
            standing(state, withdrawn.grant(), HistoryEntry.What.WITHDRAWN, "", nowMillis, listener);
        } else if (event instanceof LockEvent.Resumed resumed) {
            standing(state, resumed.grant(), HistoryEntry.What.RESUMED, "", nowMillis, listener);
        } else if (event instanceof LockEvent.RevokeAsked asked) {
            String detail = "by " + asked.by() + ": " + asked.why();
            standing(state, asked.grant(), HistoryEntry.What.REVOKE_ASKED, detail, nowMillis, listener);
        } else if (event instanceof LockEvent.Ended ended && ended.tombstone().end() != End.BUSY) {
            // Who left before the acquire came has nothing to be told of.
            Tombstone tombstone = ended.tombstone();
            asked(state, tombstone.request())
                    .ifPresent(request -> listener.happened(
                            lock,
                            nowMillis,
                            HistoryEntry.What.of(tombstone.end()),
                            request,
                            tombstone.token(),
                            tombstone.detail()));
        }
    }

    private static void standing(
            LockState state, GrantId id, HistoryEntry.What what, String detail, long nowMillis, Listener listener) {
        Optional<Grant> held = state.holder(id);
        if (held.isPresent()) {
            long token = held.get().token().value();
            listener.happened(state.name(), nowMillis, what, held.get().request(), token, detail);
            return;
        }
        Optional<Offer> offer = state.offer(id);
        if (offer.isPresent()) {
            long token = offer.get().token().value();
            listener.happened(state.name(), nowMillis, what, offer.get().request(), token, detail);
        }
    }

    private static Optional<Request> asked(LockState state, RequestId id) {
        return state.holder(id)
                .map(Grant::request)
                .or(() -> state.offer(id).map(Offer::request))
                .or(() -> state.waiter(id).map(Waiter::request));
    }
}
