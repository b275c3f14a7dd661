package dev.palisade.server.core;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RequestId;
import java.util.Iterator;
import java.util.Optional;

/** A translation of decisions to entries of the history of their lock. Pure; keeps nothing. */
public final class HistoryRecorder {
    private HistoryRecorder() {}

    /** Hears of one thing that happened. */
    @FunctionalInterface
    public interface Listener {
        void happened(LockName lock, HistoryEntry entry);
    }

    /** @param before the state that was decided upon */
    public static void record(LockState before, Decision decision, long nowMillis, Listener listener) {
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
        entry(state, event, nowMillis).ifPresent(entry -> listener.happened(lock, entry));
    }

    private static Optional<HistoryEntry> entry(LockState state, LockEvent event, long now) {
        if (event instanceof LockEvent.Granted granted) {
            return Optional.of(granted(granted.grant(), HistoryEntry.What.GRANTED, now));
        }
        if (event instanceof LockEvent.Reclaimed reclaimed) {
            return Optional.of(granted(reclaimed.grant(), HistoryEntry.What.RECLAIMED, now));
        }
        if (event instanceof LockEvent.Queued queued) {
            Request request = queued.waiter().request();
            return Optional.of(entry(now, HistoryEntry.What.QUEUED, request, 0, request.purpose()));
        }
        if (event instanceof LockEvent.Offered offered) {
            long token = offered.token().value();
            return asked(state, offered.request())
                    .map(request -> entry(now, HistoryEntry.What.OFFERED, request, token, ""));
        }
        if (event instanceof LockEvent.Accepted accepted) {
            return standing(state, accepted.grant(), HistoryEntry.What.ACCEPTED, "", now);
        }
        if (event instanceof LockEvent.Lapsed lapsed) {
            return standing(state, lapsed.grant(), HistoryEntry.What.LAPSED, "", now);
        }
        if (event instanceof LockEvent.Withdrawn withdrawn) {
            return standing(state, withdrawn.grant(), HistoryEntry.What.WITHDRAWN, "", now);
        }
        if (event instanceof LockEvent.Resumed resumed) {
            return standing(state, resumed.grant(), HistoryEntry.What.RESUMED, "", now);
        }
        if (event instanceof LockEvent.ReleaseRequested asked) {
            String detail = "by " + asked.by() + ": " + asked.why();
            return standing(state, asked.grant(), HistoryEntry.What.RELEASE_REQUESTED, detail, now);
        }
        if (event instanceof LockEvent.MinimumHoldEnded ended && !ended.detail().isEmpty()) {
            return Optional.of(
                    new HistoryEntry(now, HistoryEntry.What.FORCE_RELEASED, 0, new GrantId(0, 0), "", ended.detail()));
        }
        if (event instanceof LockEvent.Ended ended && ended.tombstone().end() != End.BUSY) {
            // Who left before the acquire came has nothing to be told of.
            Tombstone tombstone = ended.tombstone();
            HistoryEntry.What what = HistoryEntry.What.of(tombstone.end());
            return asked(state, tombstone.request())
                    .map(request -> entry(now, what, request, tombstone.token(), tombstone.detail()));
        }
        return Optional.empty();
    }

    private static HistoryEntry granted(Grant grant, HistoryEntry.What what, long now) {
        Request request = grant.request();
        return entry(now, what, request, grant.token().value(), request.purpose());
    }

    private static Optional<HistoryEntry> standing(
            LockState state, GrantId id, HistoryEntry.What what, String detail, long now) {
        Optional<HistoryEntry> held = state.holder(id)
                .map(grant -> entry(now, what, grant.request(), grant.token().value(), detail));
        return held.or(() -> state.offer(id)
                .map(offer -> entry(now, what, offer.request(), offer.token().value(), detail)));
    }

    private static HistoryEntry entry(long now, HistoryEntry.What what, Request request, long token, String detail) {
        return new HistoryEntry(now, what, token, request.grant(), request.owner(), detail);
    }

    private static Optional<Request> asked(LockState state, RequestId id) {
        return state.holder(id)
                .map(Grant::request)
                .or(() -> state.offer(id).map(Offer::request))
                .or(() -> state.waiter(id).map(Waiter::request));
    }
}
