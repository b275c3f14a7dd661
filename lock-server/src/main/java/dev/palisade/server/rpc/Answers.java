package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.AcceptReply;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.CheckSequencerReply;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.ForceReleaseReply;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.LeaveReply;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.LostReason;
import dev.palisade.proto.v1.Queued;
import dev.palisade.proto.v1.Rejected;
import dev.palisade.proto.v1.ReleaseReply;
import dev.palisade.proto.v1.RenewReply;
import dev.palisade.proto.v1.RequestReleaseReply;
import dev.palisade.proto.v1.ResumeReply;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.Standby;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.TimedOut;
import dev.palisade.proto.v1.WaitEnd;
import dev.palisade.proto.v1.Waiter;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.SessionPage;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers to messages. */
record Answers(LockEngine engine) {
    private static final Logger LOG = LoggerFactory.getLogger(Answers.class);
    private static final Set<Reason> NOTED = EnumSet.of(
            Reason.MALFORMED_REQUEST,
            Reason.PERMISSION_DENIED,
            Reason.SEQUENCER_INVALID,
            Reason.QUEUE_FULL,
            Reason.LIMIT_EXCEEDED,
            Reason.TOKENS_EXHAUSTED);
    private static final int LISTED_MAX = 100;
    /** A lock takes about 110 kB at most, and a client refuses a message of more than 4 MiB. */
    private static final int PAGE_BYTES_FULL = 1 << 20;

    /** The rejection of a call of {@code caller}; operators are told of those that mean a bug, an attack or a limit. */
    Rejection noted(Rejection rejection, Caller caller) {
        engine.rejections().count(rejection);
        if (NOTED.contains(rejection.reason())) {
            engine.events().refused(rejection, shown(rejection, caller));
        }
        return rejection;
    }

    /** What else is known of a refused call, for the log. Not of the thread's context: another call may have made the result. */
    private static Object[] shown(Rejection rejection, Caller caller) {
        List<Object> pairs = new ArrayList<>();
        if (!caller.principal().isEmpty()) {
            pairs.addAll(List.of("principal", caller.principal()));
        }
        String verb = rejection.metadata().get(Caller.VERB);
        if (verb != null) {
            pairs.addAll(List.of(Caller.VERB, verb));
        }
        if (!caller.peer().isEmpty()) {
            pairs.addAll(List.of("peer", caller.peer()));
        }
        return pairs.toArray();
    }

    /** @param turns as many as were asked for */
    AcquireReply acquire(LockName lock, int turns, Answer answer) {
        AcquireReply.Builder reply = AcquireReply.newBuilder();
        if (answer instanceof Answer.Granted granted) {
            return reply.setGranted(granted(lock, granted.grant(), turns)).build();
        }
        if (answer instanceof Answer.Queued queued) {
            return reply.setQueued(queued(queued)).build();
        }
        if (answer instanceof Answer.Busy busy) {
            return reply.setBusy(busy(busy)).build();
        }
        if (answer instanceof Answer.WaitEnded) {
            return reply.setTimedOut(TimedOut.newBuilder().setRecoveringMillis(engine.recoveringMillis()))
                    .build();
        }
        throw unexpected(answer);
    }

    AcceptReply accept(LockName lock, Answer answer) {
        if (answer instanceof Answer.Granted granted) {
            return AcceptReply.newBuilder()
                    .setGranted(granted(lock, granted.grant(), 1))
                    .build();
        }
        if (answer instanceof Answer.Queued queued) {
            return AcceptReply.newBuilder().setQueued(queued(queued)).build();
        }
        throw unexpected(answer);
    }

    RenewReply renew(Answer answer) {
        Answer.Renewed renewed = expect(answer, Answer.Renewed.class);
        return RenewReply.newBuilder()
                .setTtlMillis(renewed.grant().request().ttlMillis())
                .build();
    }

    ReleaseReply release(Answer answer) {
        var unused = expect(answer, Answer.Released.class);
        return ReleaseReply.getDefaultInstance();
    }

    LeaveReply leave(Answer answer) {
        Answer.Left left = expect(answer, Answer.Left.class);
        return LeaveReply.newBuilder().setWasWaiting(left.wasWaiting()).build();
    }

    ResumeReply resume(Answer answer) {
        Answer.Resumed resumed = expect(answer, Answer.Resumed.class);
        return ResumeReply.newBuilder()
                .setTtlMillis(resumed.grant().request().ttlMillis())
                .build();
    }

    RequestReleaseReply requestRelease(Answer answer) {
        Answer.ReleaseRequested asked = expect(answer, Answer.ReleaseRequested.class);
        return RequestReleaseReply.newBuilder().setHoldersAsked(asked.holders()).build();
    }

    ForceReleaseReply forceRelease(Answer answer) {
        Answer.ForceReleased released = expect(answer, Answer.ForceReleased.class);
        return ForceReleaseReply.newBuilder().setReleased(released.leases()).build();
    }

    CheckSequencerReply checkSequencer(Answer answer) {
        Answer.Checked checked = expect(answer, Answer.Checked.class);
        return CheckSequencerReply.newBuilder().setAlive(checked.alive()).build();
    }

    BarrierReply barrier(Answer answer) {
        Answer.Raised raised = expect(answer, Answer.Raised.class);
        return BarrierReply.newBuilder()
                .setIssuer(engine.config().issuer())
                .setToken(raised.barrier().value())
                .build();
    }

    DescribeReply describe(Answer answer) {
        Answer.Described described = expect(answer, Answer.Described.class);
        DescribeReply.Builder reply = described(described.state(), described.nowMillis()).toBuilder();
        engine.store().epoch().ifPresent(epoch -> reply.setEpoch(epoch(epoch)));
        return reply.build();
    }

    static StoreReply store(StoreStatus status, String server) {
        StoreReply.Builder reply = StoreReply.newBuilder()
                .setServer(server)
                .setKind(status.kind())
                .setWhere(status.where())
                .setUp(status.up())
                .setSinceEpochMillis(status.sinceMillis())
                .setWhy(status.why())
                .setStandby(status.standby());
        status.epoch().ifPresent(epoch -> reply.setEpoch(epoch(epoch)));
        status.log().ifPresent(log -> reply.setLog(log(log)));
        return reply.build();
    }

    private static SharedLog log(StoreStatus.SharedLog log) {
        SharedLog.Builder told = SharedLog.newBuilder()
                .setActive(log.activeAddress())
                .setWriter(log.writer())
                .setBatch(log.batch())
                .setTerm(log.term())
                .setClaimMillis(log.claimMillis())
                .setClaimRemainingMillis(log.remainingMillis())
                .setTakenOverAtEpochMillis(log.takeover().atMillis())
                .setTakenOverWhy(log.takeover().why())
                .setTakenOverFrom(log.takeover().fromAddress());
        log.standbys()
                .forEach(standby -> told.addStandbys(Standby.newBuilder()
                        .setAddress(standby.address())
                        .setSinceEpochMillis(standby.sinceMillis())
                        .setLastSeenEpochMillis(standby.lastSeenMillis())));
        return told.build();
    }

    private static Epoch epoch(StoreStatus.Epoch epoch) {
        return Epoch.newBuilder()
                .setBaseToken(epoch.baseToken())
                .setBeganAtEpochMillis(epoch.beganAtMillis())
                .setWhy(epoch.why())
                .setRecoveringMillis(epoch.recoveringMillis())
                .setAheadMillis(epoch.aheadMillis())
                .build();
    }

    /** A page that would be too long for a message ends early, and the next goes on from there. */
    ListReply list(LockPage page) {
        ListReply.Builder reply = ListReply.newBuilder();
        String nextAfter = page.nextAfter();
        int bytes = 0;
        for (LockState state : page.locks()) {
            if (bytes >= PAGE_BYTES_FULL) {
                nextAfter = reply.getLocks(reply.getLocksCount() - 1).getLock();
                break;
            }
            DescribeReply lock = described(state, page.nowMillis());
            bytes += lock.getSerializedSize();
            reply.addLocks(lock);
        }
        return reply.setNextPageToken(nextAfter.isEmpty() ? "" : PageToken.after(nextAfter))
                .build();
    }

    static SessionsReply sessions(SessionPage page) {
        SessionsReply.Builder reply = SessionsReply.newBuilder();
        for (SessionPage.Listed session : page.sessions()) {
            reply.addSessions(ListedSession.newBuilder()
                    .setSession(session.id().shortened())
                    .setOwner(session.owner())
                    .setPrincipal(session.principal())
                    .setSessionGen(session.gen())
                    .setConnected(session.connected())
                    .setConnectedAtEpochMillis(session.connectedAtMillis())
                    .setHeardMillisAgo(Math.max(0, page.nowMillis() - session.heardAtMillis()))
                    .setLeases(session.leases())
                    .setWaiting(session.waiting())
                    .setKeepLeasesOnDisconnect(session.keepLeasesOnDisconnect()));
        }
        return reply.setNextPageToken(page.nextAfter().isEmpty() ? "" : PageToken.afterSession(page.nextAfter()))
                .build();
    }

    private DescribeReply described(LockState state, long now) {
        DescribeReply.Builder reply = totals(state, now);
        state.holders().stream().limit(LISTED_MAX).forEach(grant -> reply.addHolders(holder(state.name(), grant, now)));
        state.offers().stream()
                .limit(LISTED_MAX)
                .forEach(offer -> reply.addWaiters(
                        waiter(state.name(), offer.waiter(), now).setOffered(true)));
        state.waiters().stream()
                .limit(LISTED_MAX - reply.getWaitersCount())
                .forEach(waiter -> reply.addWaiters(waiter(state.name(), waiter, now)));
        return reply.build();
    }

    /** As in a list, with the first holder only and without the waiters; their numbers count all. */
    DescribeReply summary(LockState state, long now) {
        DescribeReply.Builder reply = totals(state, now);
        state.holders().stream().limit(1).forEach(grant -> reply.addHolders(holder(state.name(), grant, now)));
        return reply.build();
    }

    private static DescribeReply.Builder totals(LockState state, long now) {
        return DescribeReply.newBuilder()
                .setLock(state.name().value())
                .setHoldersTotal(state.holders().size())
                .setWaitersTotal(state.offers().size() + state.waiters().size())
                .setLockDelayRemainingMillis(Math.max(0, state.lockDelayUntilMillis() - now))
                .setMinimumHoldRemainingMillis(Math.max(0, state.minimumHoldUntilMillis() - now));
    }

    static HistoryReply history(List<HistoryEntry> entries) {
        HistoryReply.Builder reply = HistoryReply.newBuilder();
        for (HistoryEntry entry : entries) {
            reply.addEntries(dev.palisade.proto.v1.HistoryEntry.newBuilder()
                    .setAtEpochMillis(entry.atMillis())
                    .setWhat(entry.what().name())
                    .setToken(entry.token())
                    .setGrantId(ByteString.copyFrom(entry.grant().toBytes()))
                    .setOwner(entry.owner())
                    .setDetail(entry.detail())
                    .setCause(entry.cause().map(Enum::name).orElse(""))
                    .setAfterGap(entry.isAfterGap()));
        }
        return reply.build();
    }

    Granted granted(LockName lock, Grant grant, int turns) {
        Granted.Builder granted = Granted.newBuilder()
                .setLock(lock.value())
                .setMode(mode(grant.mode()))
                .setToken(grant.token().value())
                .setGrantId(ByteString.copyFrom(grant.id().toBytes()))
                .setTtlMillis(grant.request().ttlMillis())
                .setLockAtLeastForMillis(grant.request().lockAtLeastForMillis())
                .setSequencer(sequencer(lock, grant, 0));
        for (int turn = 1; turn < turns; turn++) {
            granted.addTurns(sequencer(lock, grant, turn));
        }
        return granted.build();
    }

    private ByteString sequencer(LockName lock, Grant grant, int turn) {
        return ByteString.copyFrom(engine.sequencer(lock, grant, turn).toBytes());
    }

    static Rejected rejected(Rejection rejection) {
        return Rejected.newBuilder()
                .setReason(rejection.reason().name())
                .setMessage(rejection.message())
                .putAllMetadata(rejection.metadata())
                .build();
    }

    static LostReason lostReason(End end) {
        return switch (end) {
            case EXPIRED -> LostReason.LOST_EXPIRED;
            case ABANDONED -> LostReason.LOST_ABANDONED;
            case FORCE_RELEASED -> LostReason.LOST_FORCE_RELEASED;
            case RELEASED, LEFT, TIMED_OUT, DROPPED, BUSY -> LostReason.LOST_UNKNOWN;
        };
    }

    static WaitEnd waitEnd(End end) {
        return end == End.TIMED_OUT ? WaitEnd.WAIT_TIMED_OUT : WaitEnd.WAIT_DROPPED;
    }

    private Queued queued(Answer.Queued queued) {
        return Queued.newBuilder()
                .setPosition(queued.position())
                .setRecoveringMillis(engine.recoveringMillis())
                .build();
    }

    private static Busy busy(Answer.Busy busy) {
        Busy.Builder reply = Busy.newBuilder()
                .setRemainingMillis(busy.remainingMillis())
                .setMinimumHoldRemainingMillis(busy.minimumHoldRemainingMillis())
                .setWaiters(busy.waiters());
        busy.holder().ifPresent(grant -> reply.setHolder(holder(grant, busy.nowMillis())));
        return reply.build();
    }

    private Holder holder(LockName lock, Grant grant, long now) {
        return holder(grant, now).toBuilder()
                .setPrincipal(engine.principalOf(lock, grant.request().id()))
                .build();
    }

    /** Without its principal: the caller may acquire the lock, and perhaps not describe it. */
    private static Holder holder(Grant grant, long now) {
        Request request = grant.request();
        return Holder.newBuilder()
                .setToken(grant.token().value())
                .setMode(mode(grant.mode()))
                .setOwner(request.owner())
                .setPurpose(request.purpose())
                .setHeldMillis(now - grant.grantedAtMillis())
                .setRemainingMillis(grant.expiresAtMillis() - now)
                .setTtlMillis(request.ttlMillis())
                .setSession(request.id().session().shortened())
                .setGrantId(ByteString.copyFrom(grant.id().toBytes()))
                .build();
    }

    private Waiter.Builder waiter(LockName lock, dev.palisade.server.core.Waiter waiter, long now) {
        Request request = waiter.request();
        return Waiter.newBuilder()
                .setMode(mode(request.mode()))
                .setOwner(request.owner())
                .setPurpose(request.purpose())
                .setWaitedMillis(now - waiter.queuedAtMillis())
                .setSession(request.id().session().shortened())
                .setPrincipal(engine.principalOf(lock, request.id()));
    }

    private static dev.palisade.proto.v1.Mode mode(Mode mode) {
        return mode == Mode.EXCLUSIVE ? dev.palisade.proto.v1.Mode.EXCLUSIVE : dev.palisade.proto.v1.Mode.SHARED;
    }

    /** For an answer that was decided and could not be put into a message; signing can fail. */
    static Rejection unsaid(RuntimeException failure) {
        LOG.error("an answer could not be sent", failure);
        return new Rejection(
                Reason.OUTCOME_UNKNOWN,
                "the lock server could not put its answer into words (see its log); ask again with the same request id",
                Map.of(Rejection.APPLIED, "unknown"));
    }

    /** Returns the answer as the kind that its command expects. Throws the rejection of a refused command. */
    private static <A extends Answer> A expect(Answer answer, Class<A> kind) {
        if (kind.isInstance(answer)) {
            return kind.cast(answer);
        }
        throw unexpected(answer);
    }

    private static RuntimeException unexpected(Answer answer) {
        if (answer instanceof Answer.Refused refused) {
            return refused.rejection().asException();
        }
        return new IllegalStateException("no such answer to this command: " + answer);
    }
}
