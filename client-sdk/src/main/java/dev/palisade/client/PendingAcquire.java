package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.OfferedEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.WaitEnd;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A pending acquire request at the server, for one acquire or for several that then hold the lease one after another.
 * It is sent, perhaps queued, perhaps offered a grant, and leaves the queue when no acquire needs it any more. It
 * cleans up at the server: no path ends with a grant without a holder. In the loop only.
 */
final class PendingAcquire extends PendingCall {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long WAIT_MILLIS_MAX = Duration.ofHours(24).toMillis();
    /** Largest age of a request that is sent again. The server refuses unknown requests that are older than 30 s. */
    private static final long AGE_NANOS_MAX = 25_000 * NANOS_PER_MILLI;

    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final boolean isTry;
    private final Runnable onClosed;
    /** The acquires, in the order in which they will hold the lease; empty only after the end. */
    private final Deque<Acquire> members = new ArrayDeque<>(1);

    private final RetryDelay retryDelay = new RetryDelay();
    private long requestId;
    private long firstSentNanos;
    private int sendings;
    /** Time since which the request has no reply. It restarts with the first sending on a new stream. */
    private long unrepliedSinceNanos;

    private boolean replied;

    @Nullable
    private Rejection lastRejection;

    /** The accept or resume that confirms a grant; one at a time. */
    @Nullable
    private PendingCall grantCall;

    /**
     * @param options of all its acquires, except for the wait
     * @param onClosed runs once, at the end
     */
    PendingAcquire(Session session, LockName lock, AcquireOptions options, Runnable onClosed) {
        this.session = session;
        this.lock = lock;
        this.options = options;
        this.isTry = options.waitTime().isZero();
        this.onClosed = onClosed;
    }

    /** Whether an acquire can be added: the request is not sent yet, and has fewer acquires than a grant has tokens. */
    boolean hasRoom() {
        return sendings == 0 && members.size() < FencingToken.PER_GRANT;
    }

    void add(Acquire acquire) {
        members.add(acquire);
        acquire.dependOn(this);
    }

    void begin() {
        requestId = session.register(this);
        unrepliedSinceNanos = session.loop().now().nanos();
        session.start(this);
    }

    /** Removes an acquire that has its result. Without acquires the request ends. */
    void remove(Acquire acquire) {
        if (members.remove(acquire) && members.isEmpty()) {
            leaveQueue();
            close();
        }
    }

    /** Whether the server has replied to the last sending. */
    boolean isReplied() {
        return replied;
    }

    /**
     * The result of an acquire at its deadline. It has timed out only if the server is known to have it in its queue.
     * Else the client does not know whether another holder has the lock.
     *
     * @param hasEarlierReply whether the server replied to an earlier request, so that this one may be recent
     */
    AcquireResult resultAtDeadline(boolean hasEarlierReply) {
        if (lastRejection != null) {
            return new AcquireResult.Unavailable(lastRejection);
        }
        long nowNanos = session.loop().now().nanos();
        long silentNanos = session.silentNanos();
        if (silentNanos >= KeepAlive.WAITING_INTERVAL_NANOS) {
            return new AcquireResult.Unavailable(session.silent(silentNanos));
        }
        boolean isRecent = hasEarlierReply && nowNanos - unrepliedSinceNanos < KeepAlive.WAITING_INTERVAL_NANOS;
        if (isTry || !session.connected() || (!replied && !isRecent)) {
            return new AcquireResult.Unavailable(session.unreachable());
        }
        return resultOfWait();
    }

    /** While the store recovers, a wait that ends does not mean that another holder has the lock. */
    private AcquireResult resultOfWait() {
        return session.recovering()
                .<AcquireResult>map(AcquireResult.Unavailable::new)
                .orElseGet(AcquireResult.TimedOut::new);
    }

    void clientClosed() {
        leaveQueue();
        end(Acquire::clientClosed);
    }

    void fail(RuntimeException failure) {
        end(member -> member.fail(failure));
    }

    // ---- the request

    @Override
    Call.Builder call(ClockReading now) {
        if (sendings++ == 0) {
            firstSentNanos = now.nanos();
        }
        if (replied) {
            replied = false;
            unrepliedSinceNanos = now.nanos();
        }
        long leftMillis = Math.max(1, leftMillis(now));
        Duration ttl = options.ttl().isZero() ? session.settings().ttl() : options.ttl();
        return Call.newBuilder()
                .setTraceparent(members.isEmpty() ? "" : members.getFirst().traceparent())
                .setAcquire(AcquireRequest.newBuilder()
                        .setLock(lock.value())
                        .setMode(ProtoMapper.mode(options.mode()))
                        .setTtlMillis(ttl.toMillis())
                        .setWaitMillis(isTry ? 0 : Math.min(WAIT_MILLIS_MAX, leftMillis))
                        .setLockDelayMillis(options.lockDelay().toMillis())
                        .setLockAtLeastForMillis(options.lockAtLeastFor().toMillis())
                        .setRequestId(requestId)
                        .setAgeMillis((now.nanos() - firstSentNanos) / NANOS_PER_MILLI)
                        .setPurpose(options.purpose())
                        .setTurns(members.size()));
    }

    /** Time until the last deadline of its acquires. */
    private long leftMillis(ClockReading now) {
        long longest = 0;
        for (Acquire member : members) {
            longest = Math.max(longest, member.deadlineNanos() - now.nanos());
        }
        return longest / NANOS_PER_MILLI;
    }

    @Override
    boolean isUrgent() {
        return false;
    }

    @Override
    void onReply(Reply reply, ClockReading sent) {
        replied = true;
        switch (reply.getReplyCase()) {
            case ACQUIRE -> outcome(reply.getAcquire(), sent);
            case REJECTED -> rejected(ProtoMapper.rejection(reply.getRejected()));
            default -> endMalformed("an acquire was answered with " + reply.getReplyCase());
        }
    }

    private void outcome(AcquireReply reply, ClockReading sent) {
        switch (reply.getOutcomeCase()) {
            case GRANTED -> granted(reply.getGranted(), sent);
            case QUEUED -> {
                lastRejection = null;
                session.recovers(reply.getQueued().getRecoveringMillis());
                members.forEach(Acquire::queued);
            }
            case BUSY -> busy(reply);
            // The reply to a resent request may be about the wait of an earlier sending, which the server has dropped.
            case TIMED_OUT -> waitEnded(sendings > 1 ? WaitEnd.WAIT_DROPPED : WaitEnd.WAIT_TIMED_OUT);
            case OUTCOME_NOT_SET -> endMalformed("an acquire was answered without an outcome");
        }
    }

    private void busy(AcquireReply reply) {
        try {
            end(ProtoMapper.busy(reply.getBusy()));
        } catch (RejectedException e) {
            endMalformed(e.rejection().message());
        }
    }

    private void rejected(Rejection rejection) {
        lastRejection = rejection;
        boolean old = sendings > 1 && session.loop().now().nanos() - firstSentNanos >= AGE_NANOS_MAX;
        switch (RejectionAction.of(rejection.reason())) {
            case THROW -> {
                if (old) {
                    requestAnew();
                } else {
                    fail(rejection.asException());
                }
            }
            case REPORT -> end(new AcquireResult.Unavailable(rejection));
            case LEASE_LOST -> requestAnew();
            case RETRY -> {
                if (isTry) {
                    end(new AcquireResult.Unavailable(rejection));
                } else {
                    requestAnew();
                }
            }
            case RESEND -> {
                if (old) {
                    requestAnew();
                } else {
                    session.retry(this, retryDelay.nextNanos(rejection));
                }
            }
        }
    }

    // ---- grants

    private void granted(Granted granted, ClockReading sent) {
        Grant grant = checked(granted);
        if (grant == null) {
            session.release(granted);
        } else if (sendings == 1) {
            take(grant, granted, new LeaseView(sent, grant.ttlMillis()));
        } else {
            // The reply may be to an earlier sending, and the lease as old. A resume confirms that it is held from now
            // on.
            confirm(grant, granted);
        }
    }

    private void confirm(Grant grant, Granted granted) {
        startGrantCall(CallbackCall.onThisStream(
                () -> GrantCalls.resume(grant, requestParams(), session.id(), session.generation()), (reply, sent) -> {
                    if (reply.hasResume()) {
                        take(grant, granted, new LeaseView(sent, grant.ttlMillis()));
                    } else if (!retryIfTransient(reply)) {
                        session.release(granted);
                        requestAnew();
                    }
                }));
    }

    /** Handles an offer. */
    void offered(OfferedEvent offer, @Nullable ClockReading seen) {
        Grant grant = checked(offer.getGranted());
        if (grant == null) {
            return;
        }
        if (!members.isEmpty()) {
            members.getFirst().offered();
        }
        if (seen != null && mayBeUsedBeforeItsAccept()) {
            LeaseView offered = new LeaseView(seen, Math.min(offer.getOfferMillis(), grant.ttlMillis()));
            if (offered.leftNanos(session.loop().now()) >= GrantedLease.LEFT_MIN_NANOS) {
                hold(GrantedLease.ofOffer(session, grant, requestParams(), offered));
                return;
            }
        }
        startGrantCall(CallbackCall.onThisStream(() -> GrantCalls.accept(grant, session.id()), (reply, sent) -> {
            if (reply.hasAccept() && reply.getAccept().hasGranted()) {
                take(grant, reply.getAccept().getGranted(), new LeaseView(sent, grant.ttlMillis()));
            } else if (reply.hasAccept() && reply.getAccept().hasQueued()) {
                session.finish(grantCall);
            } else if (!retryIfTransient(reply)) {
                requestAnew();
            }
        }));
    }

    /**
     * Whether an offer may be used before its accept has a reply. To the server an offer is no lease: it has no minimum
     * hold time and no lock-delay, and ends with its stream. A request for one of these waits for the reply to its
     * accept.
     */
    private boolean mayBeUsedBeforeItsAccept() {
        return options.lockDelay().isZero()
                && options.lockAtLeastFor().isZero()
                && !session.settings().keepLeasesOnDisconnect();
    }

    private Grant.RequestParams requestParams() {
        return new Grant.RequestParams(
                requestId,
                options.lockDelay().toMillis(),
                options.lockAtLeastFor().toMillis(),
                options.purpose());
    }

    private void startGrantCall(PendingCall next) {
        if (grantCall == null || grantCall.done()) {
            grantCall = next;
            session.start(next);
        }
    }

    /** Retries the grant call if it was refused for a reason that may pass; else returns false. */
    private boolean retryIfTransient(Reply reply) {
        if (grantCall == null || !reply.hasRejected()) {
            return false;
        }
        Rejection rejection = ProtoMapper.rejection(reply.getRejected());
        RejectionAction action = RejectionAction.of(rejection.reason());
        if (action != RejectionAction.RETRY && action != RejectionAction.RESEND) {
            return false;
        }
        session.retry(grantCall, retryDelay.nextNanos(rejection));
        return true;
    }

    private void take(Grant grant, Granted granted, LeaseView view) {
        if (view.expired(session.loop().now())) {
            session.release(granted);
            requestAnew();
            return;
        }
        hold(GrantedLease.ofGrant(session, grant, requestParams(), view));
    }

    /** Grants the lease to the acquires, one after another. */
    private void hold(GrantedLease granted) {
        List<Acquire> all = List.copyOf(members);
        members.clear();
        granted.grantTo(all);
        close();
    }

    @Nullable
    private Grant checked(Granted granted) {
        try {
            return ProtoMapper.grant(granted, lock, options.mode(), options.lockAtLeastFor());
        } catch (RejectedException e) {
            endMalformed(e.rejection().message());
            return null;
        }
    }

    // ---- ends without a grant

    void waitEnded(WaitEnd end) {
        long leftMillis = leftMillis(session.loop().now());
        // The server drops waits of clients that it takes for dead. A timeout before the deadline is the limit of the
        // server.
        if (leftMillis > 0 && (end == WaitEnd.WAIT_DROPPED || leftMillis > WAIT_MILLIS_MAX / 2)) {
            requestAnew();
        } else {
            leaveQueue();
            end(resultOfWait());
        }
    }

    /** Sends a new request after a delay, and leaves the queue of the old one. */
    private void requestAnew() {
        leaveQueue();
        session.finish(grantCall);
        session.unregister(requestId);
        requestId = session.register(this);
        sendings = 0;
        assignTo(null);
        session.retry(this, lastRejection == null ? retryDelay.nextNanos() : retryDelay.nextNanos(lastRejection));
    }

    private void endMalformed(String what) {
        leaveQueue();
        end(new AcquireResult.Unavailable(new Rejection(
                Reason.OUTCOME_UNKNOWN, what + "; nothing is held; check that client and server are of one release")));
    }

    private void leaveQueue() {
        if (sendings > 0) {
            session.leave(lock.value(), requestId);
        }
    }

    private void end(AcquireResult outcome) {
        end(member -> member.end(outcome));
    }

    private void end(Consumer<Acquire> outcome) {
        List<Acquire> all = List.copyOf(members);
        members.clear();
        close();
        all.forEach(outcome);
    }

    private void close() {
        session.finish(grantCall);
        session.unregister(requestId);
        session.finish(this);
        onClosed.run();
    }
}
