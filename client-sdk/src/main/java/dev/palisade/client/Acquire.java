package dev.palisade.client;

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
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One acquire from its call to its result: asked, perhaps queued, perhaps offered, accepted, and over at its deadline
 * whatever happens. Whatever it leaves behind at the server is given back: no path ends with a grant that nobody has.
 */
final class Acquire extends Errand {
    private static final long NANOS_PER_MILLI = 1_000_000;
    /** An offer with less left is not handed over before its accept is confirmed. */
    private static final long OFFER_LEFT_MIN_NANOS = 250 * NANOS_PER_MILLI;

    private static final long WAIT_MILLIS_MAX = Duration.ofHours(24).toMillis();
    /** The server refuses what is older than 30 s and unknown to it; then it is asked anew. */
    private static final long AGE_NANOS_MAX = 25_000 * NANOS_PER_MILLI;

    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final boolean aTry;
    private final long deadlineNanos;
    private final CompletableFuture<AcquireResult> result = new CompletableFuture<>();
    private final Retry retry = new Retry();
    private long requestId;
    private long firstSentNanos;
    private int sendings;

    @Nullable
    private Rejection lastRejection;

    /** The accept or resume that decides about a grant; one at a time. */
    @Nullable
    private Errand step;

    @Nullable
    private HeldLease lease;

    @Nullable
    private Claiming claiming;

    private Timeline.@Nullable Entry deadline;

    Acquire(Session session, LockName lock, AcquireOptions options) {
        this.session = session;
        this.lock = lock;
        this.options = options;
        this.aTry = options.waitTime().isZero();
        Duration limit = aTry ? session.settings().callTimeout() : options.waitTime();
        this.deadlineNanos = session.loop().now().nanos() + limit.toNanos();
    }

    /** Done exactly once, by a result, or by an exception for a bug or a closed client. */
    CompletableFuture<AcquireResult> result() {
        return result;
    }

    void begin() {
        if (session.closing()) {
            markDone();
            result.completeExceptionally(session.closedException());
            return;
        }
        requestId = session.register(this);
        if (options.waitTime().compareTo(AcquireOptions.WAIT_ENDLESS) < 0) {
            deadline = session.loop().at(deadlineNanos, this::deadlinePassed);
        }
        session.start(this);
    }

    /** Nobody wants the result any more: leaves the queue, or releases what was granted. */
    void abandon() {
        if (lease != null) {
            lease.giveBack();
            if (claiming != null) {
                claiming.stop();
                result.complete(new AcquireResult.TimedOut());
            }
        } else if (!done()) {
            leaveQueue();
            end(new AcquireResult.TimedOut());
        }
    }

    void clientClosed() {
        leaveQueue();
        end(new AcquireResult.Unavailable(
                new Rejection(Reason.STORE_UNAVAILABLE, "the client was closed during the acquire; nothing is held")));
    }

    void fail(RuntimeException failure) {
        close();
        result.completeExceptionally(failure);
    }

    // ---- asking

    @Override
    Call.Builder call(Moment now) {
        if (sendings++ == 0) {
            firstSentNanos = now.nanos();
        }
        long leftMillis = Math.max(1, (deadlineNanos - now.nanos()) / NANOS_PER_MILLI);
        Duration ttl = options.ttl().isZero() ? session.settings().ttl() : options.ttl();
        return Call.newBuilder()
                .setAcquire(AcquireRequest.newBuilder()
                        .setLock(lock.value())
                        .setMode(Wire.mode(options.mode()))
                        .setTtlMillis(ttl.toMillis())
                        .setWaitMillis(aTry ? 0 : Math.min(WAIT_MILLIS_MAX, leftMillis))
                        .setLockDelayMillis(options.lockDelay().toMillis())
                        .setRequestId(requestId)
                        .setAgeMillis((now.nanos() - firstSentNanos) / NANOS_PER_MILLI)
                        .setPurpose(options.purpose()));
    }

    @Override
    boolean urgent() {
        return false;
    }

    @Override
    void answered(Reply reply, Moment sent) {
        switch (reply.getReplyCase()) {
            case ACQUIRE -> outcome(reply.getAcquire(), sent);
            case REJECTED -> rejected(Wire.rejection(reply.getRejected()));
            default -> garbled("an acquire was answered with " + reply.getReplyCase());
        }
    }

    private void outcome(AcquireReply reply, Moment sent) {
        switch (reply.getOutcomeCase()) {
            case GRANTED -> granted(reply.getGranted(), sent);
            case QUEUED -> lastRejection = null;
            case BUSY -> busy(reply);
            // Asked again, it tells of the end of an earlier sending's wait: given up, perhaps, while we were away.
            case TIMED_OUT -> waitEnded(sendings > 1 ? WaitEnd.WAIT_DROPPED : WaitEnd.WAIT_TIMED_OUT);
            case OUTCOME_NOT_SET -> garbled("an acquire was answered without an outcome");
        }
    }

    private void busy(AcquireReply reply) {
        try {
            end(Wire.busy(reply.getBusy()));
        } catch (RejectedException e) {
            garbled(e.rejection().message());
        }
    }

    private void rejected(Rejection rejection) {
        lastRejection = rejection;
        boolean old = sendings > 1 && session.loop().now().nanos() - firstSentNanos >= AGE_NANOS_MAX;
        switch (Remedy.of(rejection.reason())) {
            case THROW -> {
                if (old) {
                    askAnew();
                } else {
                    fail(rejection.asException());
                }
            }
            case TELL -> end(new AcquireResult.Unavailable(rejection));
            case LOST -> askAnew();
            case RETRY -> {
                if (aTry) {
                    end(new AcquireResult.Unavailable(rejection));
                } else {
                    askAnew();
                }
            }
            case ASK_AGAIN -> {
                if (old) {
                    askAnew();
                } else {
                    session.again(this, retry.delayNanos(rejection));
                }
            }
        }
    }

    // ---- being granted

    private void granted(Granted granted, Moment sent) {
        Grant grant = checked(granted);
        if (grant == null) {
            session.giveBack(granted);
        } else if (sendings == 1) {
            take(grant, granted, new LeaseView(sent, grant.ttlMillis()));
        } else {
            // The answer may be an earlier sending's, and the lease as old. Only a resume says that it holds from now
            // on.
            confirm(grant, granted);
        }
    }

    private void confirm(Grant grant, Granted granted) {
        step(Ask.onThisStream(() -> Calls.resume(grant, asked(), session.id(), session.generation()), (reply, sent) -> {
            if (reply.hasResume()) {
                take(grant, granted, new LeaseView(sent, grant.ttlMillis()));
            } else if (!passing(reply)) {
                session.giveBack(granted);
                askAnew();
            }
        }));
    }

    /** The wait is over. */
    void offered(OfferedEvent offer, @Nullable Moment seen) {
        Grant grant = checked(offer.getGranted());
        if (grant == null) {
            return;
        }
        if (seen != null) {
            LeaseView offered = new LeaseView(seen, Math.min(offer.getOfferMillis(), grant.ttlMillis()));
            if (offered.leftNanos(session.loop().now()) >= OFFER_LEFT_MIN_NANOS) {
                hold(HeldLease.ofOffer(session, grant, asked(), offered));
                return;
            }
        }
        step(Ask.onThisStream(() -> Calls.accept(grant, session.id()), (reply, sent) -> {
            if (reply.hasAccept() && reply.getAccept().hasGranted()) {
                take(grant, reply.getAccept().getGranted(), new LeaseView(sent, grant.ttlMillis()));
            } else if (reply.hasAccept() && reply.getAccept().hasQueued()) {
                session.finish(step);
            } else if (!passing(reply)) {
                askAnew();
            }
        }));
    }

    private Grant.Asked asked() {
        return new Grant.Asked(requestId, options.lockDelay().toMillis(), options.purpose());
    }

    private void step(Errand next) {
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
        Rejection rejection = Wire.rejection(reply.getRejected());
        Remedy remedy = Remedy.of(rejection.reason());
        if (remedy != Remedy.RETRY && remedy != Remedy.ASK_AGAIN) {
            return false;
        }
        session.again(step, retry.delayNanos(rejection));
        return true;
    }

    private void take(Grant grant, Granted granted, LeaseView view) {
        if (view.expired(session.loop().now())) {
            session.giveBack(granted);
            askAnew();
            return;
        }
        hold(HeldLease.ofGrant(session, grant, asked(), view));
    }

    private void hold(HeldLease granted) {
        lease = granted;
        LeaseHandle handle = new LeaseHandle(granted);
        if (options.claims().isEmpty()) {
            end(new AcquireResult.Granted(handle));
            return;
        }
        close();
        long leftNanos = deadlineNanos - session.loop().now().nanos();
        claiming = new Claiming(session, handle, options.claims(), failure -> claimed(handle, failure));
        claiming.begin(Math.min(leftNanos, granted.leftNanos()));
    }

    private void claimed(LeaseHandle granted, @Nullable Rejection failure) {
        if (failure == null) {
            result.complete(new AcquireResult.Granted(granted));
            return;
        }
        granted.lease().giveBack();
        if (Remedy.of(failure.reason()) == Remedy.THROW) {
            result.completeExceptionally(failure.asException());
        } else {
            result.complete(new AcquireResult.Unavailable(failure));
        }
    }

    @Nullable
    private Grant checked(Granted granted) {
        try {
            return Wire.grant(granted, lock, options.mode());
        } catch (RejectedException e) {
            garbled(e.rejection().message());
            return null;
        }
    }

    // ---- not being granted

    void waitEnded(WaitEnd end) {
        long leftMillis = (deadlineNanos - session.loop().now().nanos()) / NANOS_PER_MILLI;
        // Dropped is the server's view of a client that is alive after all; a timeout before our own end is the
        // server's limit.
        if (leftMillis > 0 && (end == WaitEnd.WAIT_DROPPED || leftMillis > WAIT_MILLIS_MAX / 2)) {
            askAnew();
        } else {
            leaveQueue();
            end(new AcquireResult.TimedOut());
        }
    }

    /** A new request, in a moment; what the old one may have left behind is undone. */
    private void askAnew() {
        leaveQueue();
        session.finish(step);
        session.unregister(requestId);
        requestId = session.register(this);
        sendings = 0;
        carriedBy(null);
        session.again(this, lastRejection == null ? retry.delayNanos() : retry.delayNanos(lastRejection));
    }

    private void deadlinePassed() {
        boolean reached = session.connected() && lastRejection == null && !aTry;
        leaveQueue();
        if (reached) {
            end(new AcquireResult.TimedOut());
        } else {
            end(new AcquireResult.Unavailable(lastRejection == null ? session.unreachable() : lastRejection));
        }
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
        close();
        result.complete(outcome);
    }

    private void close() {
        session.loop().cancel(deadline);
        session.finish(step);
        session.unregister(requestId);
        session.finish(this);
    }
}
