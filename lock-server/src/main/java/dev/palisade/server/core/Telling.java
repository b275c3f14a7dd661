package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RequestId;
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
        for (LockEvent event : decision.events()) {
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
                // A SHARED request may be queued and offered the lock in one step, beside an offer that is out.
                asked(before, offered.request())
                        .or(() -> queued(decision, offered.request()))
                        .ifPresent(request -> listener.happened(
                                lock,
                                nowMillis,
                                HistoryEntry.What.OFFERED,
                                request,
                                offered.token().value(),
                                ""));
            } else if (event instanceof LockEvent.Accepted accepted) {
                standing(before, accepted.grant(), HistoryEntry.What.ACCEPTED, "", nowMillis, listener);
            } else if (event instanceof LockEvent.Lapsed lapsed) {
                standing(before, lapsed.grant(), HistoryEntry.What.LAPSED, "", nowMillis, listener);
            } else if (event instanceof LockEvent.Withdrawn withdrawn) {
                standing(before, withdrawn.grant(), HistoryEntry.What.WITHDRAWN, "", nowMillis, listener);
            } else if (event instanceof LockEvent.Resumed resumed) {
                standing(before, resumed.grant(), HistoryEntry.What.RESUMED, "", nowMillis, listener);
            } else if (event instanceof LockEvent.RevokeAsked asked) {
                String detail = "by " + asked.by() + ": " + asked.why();
                standing(before, asked.grant(), HistoryEntry.What.REVOKE_ASKED, detail, nowMillis, listener);
            } else if (event instanceof LockEvent.Ended ended
                    && ended.tombstone().end() != End.BUSY) {
                // Who left before the acquire came has nothing to be told of.
                Tombstone tombstone = ended.tombstone();
                asked(before, tombstone.request())
                        .ifPresent(request -> listener.happened(
                                lock,
                                nowMillis,
                                HistoryEntry.What.of(tombstone.end()),
                                request,
                                tombstone.token(),
                                tombstone.detail()));
            }
        }
    }

    private static void standing(
            LockState before, GrantId id, HistoryEntry.What what, String detail, long nowMillis, Listener listener) {
        Optional<Grant> held = before.holder(id);
        if (held.isPresent()) {
            long token = held.get().token().value();
            listener.happened(before.name(), nowMillis, what, held.get().request(), token, detail);
            return;
        }
        Optional<Offer> offer = before.offer(id);
        if (offer.isPresent()) {
            long token = offer.get().token().value();
            listener.happened(before.name(), nowMillis, what, offer.get().request(), token, detail);
        }
    }

    private static Optional<Request> queued(Decision decision, RequestId id) {
        return decision.events().stream()
                .filter(LockEvent.Queued.class::isInstance)
                .map(event -> ((LockEvent.Queued) event).waiter().request())
                .filter(request -> request.id().equals(id))
                .findFirst();
    }

    private static Optional<Request> asked(LockState before, RequestId id) {
        return before.holder(id)
                .map(Grant::request)
                .or(() -> before.offer(id).map(Offer::request))
                .or(() -> before.waiter(id).map(Waiter::request));
    }
}
