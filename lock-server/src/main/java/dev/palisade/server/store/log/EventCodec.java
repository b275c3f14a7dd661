package dev.palisade.server.store.log;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Waiter;
import dev.palisade.server.store.log.format.Accepted;
import dev.palisade.server.store.log.format.Ended;
import dev.palisade.server.store.log.format.Entry;
import dev.palisade.server.store.log.format.Event;
import dev.palisade.server.store.log.format.Lapsed;
import dev.palisade.server.store.log.format.MinimumHoldEnded;
import dev.palisade.server.store.log.format.Offered;
import dev.palisade.server.store.log.format.Resumed;
import dev.palisade.server.store.log.format.State;
import dev.palisade.server.store.log.format.Withdrawn;
import java.util.List;

/**
 * Events and states to journal entries and back. Lease ends, offers' ends and signs of life are not written; a state that
 * was read must be {@link LockState#restarted} before it is used.
 */
final class EventCodec {
    private EventCodec() {}

    // ---- writing ----

    static Entry entry(LockName lock, long atMillis, List<LockEvent> events) {
        Entry.Builder entry = Entry.newBuilder().setLock(lock.value()).setAtMillis(atMillis);
        for (LockEvent event : events) {
            if (event.durable()) {
                entry.addEvents(event(event));
            }
        }
        return entry.build();
    }

    static Entry entry(long atMillis, LockState state) {
        State.Builder written = State.newBuilder()
                .setClosedUntilMillis(state.lockDelayUntilMillis())
                .setMinimumHoldUntilMillis(state.minimumHoldUntilMillis())
                .setForgottenUntilMillis(state.forgottenUntilMillis());
        state.holders().forEach(grant -> written.addHolders(grant(grant)));
        state.offers()
                .forEach(offer -> written.addOffers(
                        waiter(offer.waiter()).setOfferedToken(offer.token().value())));
        state.waiters().forEach(waiter -> written.addWaiters(waiter(waiter)));
        state.tombstones().forEach(tombstone -> written.addTombstones(ended(tombstone, 0)));
        return Entry.newBuilder()
                .setLock(state.name().value())
                .setAtMillis(atMillis)
                .setState(written)
                .build();
    }

    private static Event.Builder event(LockEvent event) {
        Event.Builder written = Event.newBuilder();
        if (event instanceof LockEvent.Granted granted) {
            return written.setGranted(grant(granted.grant()));
        }
        if (event instanceof LockEvent.Queued queued) {
            return written.setQueued(waiter(queued.waiter()));
        }
        if (event instanceof LockEvent.Offered offered) {
            return written.setOffered(Offered.newBuilder()
                    .setSessionId(bytes(offered.request().session()))
                    .setNumber(offered.request().number())
                    .setToken(offered.token().value()));
        }
        if (event instanceof LockEvent.Accepted accepted) {
            return written.setAccepted(
                    Accepted.newBuilder().setGrantId(bytes(accepted.grant())).setAtMillis(accepted.atMillis()));
        }
        if (event instanceof LockEvent.Withdrawn withdrawn) {
            return written.setWithdrawn(Withdrawn.newBuilder().setGrantId(bytes(withdrawn.grant())));
        }
        if (event instanceof LockEvent.Lapsed lapsed) {
            return written.setLapsed(Lapsed.newBuilder().setGrantId(bytes(lapsed.grant())));
        }
        if (event instanceof LockEvent.Ended ended) {
            return written.setEnded(ended(ended.tombstone(), ended.lockDelayUntilMillis()));
        }
        if (event instanceof LockEvent.MinimumHoldEnded) {
            return written.setMinimumHoldEnded(MinimumHoldEnded.getDefaultInstance());
        }
        if (event instanceof LockEvent.Resumed resumed) {
            return written.setResumed(
                    Resumed.newBuilder().setGrantId(bytes(resumed.grant())).setSessionGen(resumed.sessionGen()));
        }
        if (event instanceof LockEvent.Reclaimed reclaimed) {
            return written.setReclaimed(grant(reclaimed.grant()));
        }
        throw new IllegalArgumentException("not a durable event: " + event);
    }

    private static dev.palisade.server.store.log.format.Grant grant(Grant grant) {
        return dev.palisade.server.store.log.format.Grant.newBuilder()
                .setRequest(request(grant.request()))
                .setToken(grant.token().value())
                .setGrantedAtMillis(grant.grantedAtMillis())
                .build();
    }

    private static dev.palisade.server.store.log.format.Waiter.Builder waiter(Waiter waiter) {
        return dev.palisade.server.store.log.format.Waiter.newBuilder()
                .setRequest(request(waiter.request()))
                .setQueuedAtMillis(waiter.queuedAtMillis())
                .setWaitUntilMillis(waiter.waitUntilMillis())
                .setLapse(waiter.lapse().name());
    }

    private static dev.palisade.server.store.log.format.Request request(Request request) {
        return dev.palisade.server.store.log.format.Request.newBuilder()
                .setSessionId(bytes(request.id().session()))
                .setNumber(request.id().number())
                .setSessionGen(request.sessionGen())
                .setGrantId(bytes(request.grant()))
                .setShared(request.mode() == Mode.SHARED)
                .setTtlMillis(request.ttlMillis())
                .setLockDelayMillis(request.lockDelayMillis())
                .setLockAtLeastForMillis(request.lockAtLeastForMillis())
                .setOwner(request.owner())
                .setPurpose(request.purpose())
                .build();
    }

    private static Ended ended(Tombstone tombstone, long lockDelayUntilMillis) {
        return Ended.newBuilder()
                .setSessionId(bytes(tombstone.request().session()))
                .setNumber(tombstone.request().number())
                .setGrantId(bytes(tombstone.grant()))
                .setToken(tombstone.token())
                .setEnd(tombstone.end().name())
                .setAtMillis(tombstone.endedAtMillis())
                .setClosedUntilMillis(lockDelayUntilMillis)
                .setDetail(tombstone.detail())
                .build();
    }

    // ---- reading ----

    /** {@code before} with the entry's effect. */
    static LockState apply(LockState before, Entry entry) {
        LockState state = entry.hasState() ? state(before.name(), entry.getState()) : before;
        for (Event event : entry.getEventsList()) {
            state = event(event).applyTo(state);
        }
        return state;
    }

    private static LockState state(LockName name, State state) {
        return new LockState(
                name,
                state.getHoldersList().stream().map(g -> grant(g)).toList(),
                state.getOffersList().stream()
                        .map(w -> new Offer(waiter(w), new FencingToken(w.getOfferedToken()), 0))
                        .toList(),
                state.getWaitersList().stream().map(w -> waiter(w)).toList(),
                Tombstones.of(state.getTombstonesList().stream()
                        .map(EventCodec::tombstone)
                        .toList()),
                state.getClosedUntilMillis(),
                state.getMinimumHoldUntilMillis(),
                state.getForgottenUntilMillis());
    }

    private static LockEvent event(Event event) {
        return switch (event.getEventCase()) {
            case GRANTED -> new LockEvent.Granted(grant(event.getGranted()));
            case QUEUED -> new LockEvent.Queued(waiter(event.getQueued()));
            case OFFERED ->
                new LockEvent.Offered(
                        requestId(
                                event.getOffered().getSessionId(),
                                event.getOffered().getNumber()),
                        new FencingToken(event.getOffered().getToken()),
                        0);
            case ACCEPTED ->
                new LockEvent.Accepted(
                        grantId(event.getAccepted().getGrantId()),
                        event.getAccepted().getAtMillis());
            case LAPSED -> new LockEvent.Lapsed(grantId(event.getLapsed().getGrantId()));
            case ENDED ->
                new LockEvent.Ended(
                        tombstone(event.getEnded()), event.getEnded().getClosedUntilMillis());
            case RESUMED ->
                new LockEvent.Resumed(
                        grantId(event.getResumed().getGrantId()),
                        event.getResumed().getSessionGen());
            case WITHDRAWN ->
                new LockEvent.Withdrawn(grantId(event.getWithdrawn().getGrantId()));
            case MINIMUM_HOLD_ENDED -> new LockEvent.MinimumHoldEnded("");
            case RECLAIMED -> new LockEvent.Reclaimed(grant(event.getReclaimed()));
            case EVENT_NOT_SET -> throw new IllegalArgumentException("an event of a later release");
        };
    }

    private static Grant grant(dev.palisade.server.store.log.format.Grant grant) {
        Request request = request(grant.getRequest());
        return new Grant(request, new FencingToken(grant.getToken()), grant.getGrantedAtMillis(), 0);
    }

    private static Waiter waiter(dev.palisade.server.store.log.format.Waiter waiter) {
        Request request = request(waiter.getRequest());
        return new Waiter(
                request,
                waiter.getQueuedAtMillis(),
                waiter.getWaitUntilMillis(),
                0,
                Waiter.Lapse.valueOf(waiter.getLapse()));
    }

    private static Request request(dev.palisade.server.store.log.format.Request request) {
        return new Request(
                requestId(request.getSessionId(), request.getNumber()),
                request.getSessionGen(),
                grantId(request.getGrantId()),
                request.getShared() ? Mode.SHARED : Mode.EXCLUSIVE,
                request.getTtlMillis(),
                request.getLockDelayMillis(),
                request.getLockAtLeastForMillis(),
                request.getOwner(),
                request.getPurpose());
    }

    private static Tombstone tombstone(Ended ended) {
        return new Tombstone(
                requestId(ended.getSessionId(), ended.getNumber()),
                grantId(ended.getGrantId()),
                ended.getToken(),
                End.valueOf(ended.getEnd()),
                ended.getAtMillis(),
                ended.getDetail());
    }

    private static RequestId requestId(ByteString session, long number) {
        return new RequestId(SessionId.of(session.toByteArray()), number);
    }

    private static GrantId grantId(ByteString bytes) {
        return GrantId.of(bytes.toByteArray());
    }

    private static ByteString bytes(GrantId id) {
        return ByteString.copyFrom(id.toBytes());
    }

    private static ByteString bytes(SessionId id) {
        return ByteString.copyFrom(id.toBytes());
    }
}
