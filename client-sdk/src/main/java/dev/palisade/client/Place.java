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
 * A place in the server's queue for one acquire, or for several that then hold the lease in turns: asked, perhaps
 * queued, perhaps offered, accepted, and left when nobody wants it any more. Whatever it leaves behind at the server is
 * given back: no path ends with a grant that nobody has. In the loop only.
 */
final class Place extends PendingCall {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long WAIT_MILLIS_MAX = Duration.ofHours(24).toMillis();
    /** The server refuses what is older than 30 s and unknown to it; then it is asked anew. */
    private static final long AGE_NANOS_MAX = 25_000 * NANOS_PER_MILLI;

    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final boolean aTry;
    private final Runnable whenLeft;
    /** In the order in which they are to hold the lease; never empty before the end. */
    private final Deque<Acquire> members = new ArrayDeque<>(1);

    private final RetryDelay retryDelay = new RetryDelay();
    private long requestId;
    private long firstSentNanos;
    private int sendings;
    /** Since when the request has no reply; counts again from the first sending on a new stream. */
    private long unrepliedSinceNanos;

    private boolean replied;

    @Nullable
    private Rejection lastRejection;

    /** The accept or resume that decides about a grant; one at a time. */
    @Nullable
    private PendingCall step;

    /**
     * @param options how all of them acquire, but for the wait
     * @param whenLeft run once, when it waits for nothing any more
     */
    Place(Session session, LockName lock, AcquireOptions options, Runnable whenLeft) {
        this.session = session;
        this.lock = lock;
        this.options = options;
        this.aTry = options.waitTime().isZero();
        this.whenLeft = whenLeft;
    }

    /** Whether one more can still be part of what is asked. */
    boolean hasRoom() {
        return sendings == 0 && members.size() < FencingToken.PER_GRANT;
    }

    void add(Acquire acquire) {
        members.add(acquire);
        acquire.waitsAt(this);
    }

    void begin() {
        requestId = session.register(this);
        unrepliedSinceNanos = session.loop().now().nanos();
        session.start(this);
    }

    /** It has its result. */
    void left(Acquire acquire) {
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
     * Result of an acquire at its deadline. It timed out only if the server, as far as is known, has it in its queue.
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
        if (aTry || !session.connected() || (!replied && !isRecent)) {
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

    // ---- asking

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
                        .setWaitMillis(aTry ? 0 : Math.min(WAIT_MILLIS_MAX, leftMillis))
                        .setLockDelayMillis(options.lockDelay().toMillis())
                        .setLockAtLeastForMillis(options.lockAtLeastFor().toMillis())
                        .setRequestId(requestId)
                        .setAgeMillis((now.nanos() - firstSentNanos) / NANOS_PER_MILLI)
                        .setPurpose(options.purpose())
                        .setTurns(members.size()));
    }

    /** Until the last of them gives up. */
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
            default -> garbled("an acquire was answered with " + reply.getReplyCase());
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
            // Asked again, it tells of the end of an earlier sending's wait: given up, perhaps, while we were away.
            case TIMED_OUT -> waitEnded(sendings > 1 ? WaitEnd.WAIT_DROPPED : WaitEnd.WAIT_TIMED_OUT);
            case OUTCOME_NOT_SET -> garbled("an acquire was answered without an outcome");
        }
    }

    private void busy(AcquireReply reply) {
        try {
            end(ProtoMapper.busy(reply.getBusy()));
        } catch (RejectedException e) {
            garbled(e.rejection().message());
        }
    }

    private void rejected(Rejection rejection) {
        lastRejection = rejection;
        boolean old = sendings > 1 && session.loop().now().nanos() - firstSentNanos >= AGE_NANOS_MAX;
        switch (RejectionAction.of(rejection.reason())) {
            case THROW -> {
                if (old) {
                    askAnew();
                } else {
                    fail(rejection.asException());
                }
            }
            case REPORT -> end(new AcquireResult.Unavailable(rejection));
            case LEASE_LOST -> askAnew();
            case RETRY -> {
                if (aTry) {
                    end(new AcquireResult.Unavailable(rejection));
                } else {
                    askAnew();
                }
            }
            case RESEND -> {
                if (old) {
                    askAnew();
                } else {
                    session.retry(this, retryDelay.nextNanos(rejection));
                }
            }
        }
    }

    // ---- being granted

    private void granted(Granted granted, ClockReading sent) {
        Grant grant = checked(granted);
        if (grant == null) {
            session.release(granted);
        } else if (sendings == 1) {
            take(grant, granted, new LeaseView(sent, grant.ttlMillis()));
        } else {
            // The answer may be an earlier sending's, and the lease as old. Only a resume says that it holds from now
            // on.
            confirm(grant, granted);
        }
    }

    private void confirm(Grant grant, Granted granted) {
        step(CallbackCall.onThisStream(
                () -> GrantCalls.resume(grant, asked(), session.id(), session.generation()), (reply, sent) -> {
                    if (reply.hasResume()) {
                        take(grant, granted, new LeaseView(sent, grant.ttlMillis()));
                    } else if (!passing(reply)) {
                        session.release(granted);
                        askAnew();
                    }
                }));
    }

    /** The wait is over. */
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
                hold(GrantedLease.ofOffer(session, grant, asked(), offered));
                return;
            }
        }
        step(CallbackCall.onThisStream(() -> GrantCalls.accept(grant, session.id()), (reply, sent) -> {
            if (reply.hasAccept() && reply.getAccept().hasGranted()) {
                take(grant, reply.getAccept().getGranted(), new LeaseView(sent, grant.ttlMillis()));
            } else if (reply.hasAccept() && reply.getAccept().hasQueued()) {
                session.finish(step);
            } else if (!passing(reply)) {
                askAnew();
            }
        }));
    }

    /**
     * To the server an offer is no lease: it begins no minimum hold time, its end is followed by no lock-delay, and it
     * ends with its stream. A request for one of these therefore waits for the answer to its accept.
     */
    private boolean mayBeUsedBeforeItsAccept() {
        return options.lockDelay().isZero()
                && options.lockAtLeastFor().isZero()
                && !session.settings().keepLeasesOnDisconnect();
    }

    private Grant.RequestParams asked() {
        return new Grant.RequestParams(
                requestId,
                options.lockDelay().toMillis(),
                options.lockAtLeastFor().toMillis(),
                options.purpose());
    }

    private void step(PendingCall next) {
        if (step == null || step.done()) {
            step = next;
            session.start(next);
        }
    }

    /** Whether the step was refused for a reason that may pass; it is then repeated. */
    private boolean passing(Reply reply) {
        if (step == null || !reply.hasRejected()) {
            return false;
        }
        Rejection rejection = ProtoMapper.rejection(reply.getRejected());
        RejectionAction action = RejectionAction.of(rejection.reason());
        if (action != RejectionAction.RETRY && action != RejectionAction.RESEND) {
            return false;
        }
        session.retry(step, retryDelay.nextNanos(rejection));
        return true;
    }

    private void take(Grant grant, Granted granted, LeaseView view) {
        if (view.expired(session.loop().now())) {
            session.release(granted);
            askAnew();
            return;
        }
        hold(GrantedLease.ofGrant(session, grant, asked(), view));
    }

    /** The first has it now, and as many others as there are turns hold it after him; nobody else is left. */
    private void hold(GrantedLease granted) {
        List<Acquire> all = List.copyOf(members);
        members.clear();
        granted.holdInTurns(all);
        close();
    }

    @Nullable
    private Grant checked(Granted granted) {
        try {
            return ProtoMapper.grant(granted, lock, options.mode(), options.lockAtLeastFor());
        } catch (RejectedException e) {
            garbled(e.rejection().message());
            return null;
        }
    }

    // ---- not being granted

    void waitEnded(WaitEnd end) {
        long leftMillis = leftMillis(session.loop().now());
        // Dropped is the server's view of a client that is alive after all; a timeout before our own end is the
        // server's limit.
        if (leftMillis > 0 && (end == WaitEnd.WAIT_DROPPED || leftMillis > WAIT_MILLIS_MAX / 2)) {
            askAnew();
        } else {
            leaveQueue();
            end(resultOfWait());
        }
    }

    /** A new request, in a moment; what the old one may have left behind is undone. */
    private void askAnew() {
        leaveQueue();
        session.finish(step);
        session.unregister(requestId);
        requestId = session.register(this);
        sendings = 0;
        assignTo(null);
        session.retry(this, lastRejection == null ? retryDelay.nextNanos() : retryDelay.nextNanos(lastRejection));
    }

    private void garbled(String what) {
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
        session.finish(step);
        session.unregister(requestId);
        session.finish(this);
        whenLeft.run();
    }
}
