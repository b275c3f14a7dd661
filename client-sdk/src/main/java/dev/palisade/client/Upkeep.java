package dev.palisade.client;

import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What is said to the server about one lease: accept an offer, resume on a new stream, renew at once, release. In the
 * loop only. It reports to {@link HeldLease}, which alone decides what the lease is.
 */
final class Upkeep {
    private static final long NANOS_PER_MILLI = 1_000_000;
    /** Far below what is left of an offer that was handed over. */
    private static final long ACCEPT_WITHIN_NANOS = 2 * NANOS_PER_MILLI;

    private final Session session;
    private final Grant grant;
    private final Grant.Asked asked;
    private final RetryDelay retryDelay = new RetryDelay();
    /** Whose turn it is. */
    private HeldLease lease;

    /** The first keep-alive of the present stream that renews this lease. */
    private long confirmedFrom = Long.MAX_VALUE;

    private long acceptedOn;

    @Nullable
    private PendingCall accept;

    /** Whether {@link Resumptions} is to resume it: on the next stream, or by a call that is sent. */
    private boolean isDue;

    @Nullable
    private PendingCall resume;

    @Nullable
    private PendingCall release;

    /** Asks on behalf of turns that are over. */
    @Nullable
    private PendingCall confirm;

    private final List<HeldLease> confirming = new ArrayList<>(0);
    /** Since that was asked. */
    private final List<HeldLease> over = new ArrayList<>(0);

    /** While the accept has not been sent. */
    private TimerQueue.@Nullable ScheduledTask acceptTimer;

    private TimerQueue.@Nullable ScheduledTask releaseLimit;
    /** Sendings of the release that may have been applied, as far as answers tell. */
    private int releasesInDoubt;

    /** What the release came to unless the lease is found after all; null while it is not refused. */
    @Nullable
    private ReleaseOutcome refusedAs;

    private boolean releasesOffer;

    Upkeep(Session session, HeldLease lease, Grant grant, Grant.Asked asked) {
        this.session = session;
        this.lease = lease;
        this.grant = grant;
        this.asked = asked;
    }

    Grant grant() {
        return grant;
    }

    /** The turn before is confirmed as a release is: by an answer to what was asked when it was over. */
    void passedOn(HeldLease before, HeldLease next) {
        lease = next;
        over.add(before);
        acceptNow(); // An offer is nothing to renew.
        if (confirm == null || confirm.done()) {
            confirm();
        }
    }

    private void confirm() {
        confirming.addAll(over);
        over.clear();
        confirm = CallbackCall.acrossStreams(
                () -> GrantCalls.renew(grant), this::confirmAnswered, () -> turnsEnded(ReleaseOutcome.UNKNOWN));
        session.start(confirm);
    }

    private void confirmAnswered(Reply reply, ClockReading sent) {
        if (reply.hasRejected() && repeat(confirm, reply)) {
            return;
        }
        if (!reply.hasRenew() && accept != null && confirm != null) {
            // The accept before it is to be repeated, so there was nothing to renew yet.
            session.retry(confirm, retryDelay.nextNanos());
            return;
        }
        session.finish(confirm);
        if (!reply.hasRenew() && release != null) {
            return; // The release may have ended the lease before. Its own answer also counts for the turns before it.
        }
        if (!reply.hasRenew()) {
            turnsEnded(ReleaseOutcome.ALREADY_LOST);
            lost(reply, LostReason.UNKNOWN_TO_SERVER);
            if (!reply.hasRejected()
                    || RejectionAction.of(
                                    ProtoMapper.rejection(reply.getRejected()).reason())
                            != RejectionAction.LEASE_LOST) {
                session.renewConnection("a refused renewal of the lease of " + grant.lock());
            }
            return;
        }
        lease.extend(new LeaseView(sent, confirmed(reply.getRenew().getTtlMillis())));
        confirming.forEach(turn -> turn.releaseEnded(ReleaseOutcome.RELEASED));
        confirming.clear();
        if (!over.isEmpty()) {
            confirm();
        }
    }

    private void turnsEnded(ReleaseOutcome outcome) {
        session.finish(confirm);
        confirming.addAll(over);
        over.clear();
        confirming.forEach(turn -> turn.releaseEnded(outcome));
        confirming.clear();
    }

    /** Whether nothing says that the server may see it otherwise. */
    boolean isCertain() {
        return session.connected() && !resuming() && (accept == null || acceptedOn == session.generation());
    }

    void confirmedHere() {
        confirmedFrom = session.nextKeepAliveId();
    }

    /** Whether the lease was held on this stream when that keep-alive was sent. */
    boolean confirmedBefore(long keepAliveId) {
        return confirmedFrom <= keepAliveId;
    }

    /** Until confirmed on the next stream, the old deadline counts. */
    void streamBroken() {
        confirmedFrom = Long.MAX_VALUE;
        // The resume confirms as much. A renewal would overtake it, and be refused where the resume gives the lease
        // back.
        session.finish(confirm);
        acceptNow();
        if (accept == null && !resuming()) {
            isDue = true;
            session.resumptions().add(this);
        }
    }

    /** Lost. What still asks for it is heard no more; an accept that comes too late is given back as a stray reply. */
    void stop(LostReason reason) {
        // A turn that is over was passed on with time left, so what time has ended since is no word about it.
        boolean bySomebody = reason == LostReason.FORCE_RELEASED || reason == LostReason.UNKNOWN_TO_SERVER;
        turnsEnded(bySomebody ? ReleaseOutcome.ALREADY_LOST : ReleaseOutcome.UNKNOWN);
        session.loop().cancel(acceptTimer);
        acceptTimer = null; // Else an ensure that comes late would begin the accept anew, and nothing would end it.
        session.finish(accept);
        if (resuming()) {
            isDue = false;
            session.finish(resume);
            session.renewConnection("the server may yet resume the lost lease of " + grant.lock());
        }
    }

    // ---- accept

    /** In a moment: who holds it for less than that releases the offer itself, and need not accept it. */
    void accept() {
        acceptedOn = session.generation();
        accept = CallbackCall.acrossStreams(() -> GrantCalls.accept(grant, session.id()), this::acceptAnswered);
        acceptTimer = session.loop().schedule(ACCEPT_WITHIN_NANOS, this::sendAccept);
    }

    private void acceptNow() {
        if (acceptTimer != null) {
            sendAccept();
        }
    }

    private void sendAccept() {
        session.loop().cancel(acceptTimer);
        acceptTimer = null;
        if (accept != null) {
            session.start(accept);
        }
    }

    private void acceptAnswered(Reply reply, ClockReading sent) {
        if (reply.hasAccept() && reply.getAccept().hasGranted()) {
            session.finish(accept);
            accept = null;
            accepted(sent);
            return;
        }
        if (reply.hasRejected() && repeat(accept, reply)) {
            return;
        }
        session.finish(accept);
        accept = null;
        // Lapsed: the waiter is back in the queue, with nobody behind it.
        session.leave(grant.lock().value(), asked.requestId());
        lost(reply, LostReason.EXPIRED);
        nothingToRelease();
    }

    private void accepted(ClockReading sent) {
        if (refusedAs != null) {
            releaseAfterAll();
        } else if (acceptedOn == session.generation()) {
            lease.extend(new LeaseView(sent, grant.ttlMillis()));
            confirmedHere();
        } else if (lease.held()) {
            // The answer may be an earlier sending's, given to an earlier stream.
            resume();
        }
    }

    // ---- resume and renew

    private boolean resuming() {
        return isDue || (resume != null && !resume.done());
    }

    /** Whether a call of {@link Resumptions} is to resume it. */
    boolean isDue() {
        return isDue;
    }

    /** The call of {@link Resumptions} gets no reply. */
    void dropDue() {
        isDue = false;
    }

    /** Resumes it by a call of its own. */
    void resumeAlone() {
        if (isDue) {
            isDue = false;
            resume();
        }
    }

    private void resume() {
        if (!resuming()) {
            resume = CallbackCall.onThisStream(
                    () -> GrantCalls.resume(grant, asked, session.id(), session.generation()), this::resumeAnswered);
            session.start(resume);
        }
    }

    private void resumeAnswered(Reply reply, ClockReading sent) {
        if (lease.held() && reply.hasRejected() && repeat(resume, reply)) {
            return;
        }
        session.finish(resume);
        if (!reply.hasResume()) {
            lost(reply, LostReason.UNKNOWN_TO_SERVER);
            nothingToRelease();
        } else {
            resumed(sent, confirmed(reply.getResume().getTtlMillis()));
        }
    }

    /** A call of {@link Resumptions} resumed it. */
    void resumed(ClockReading sent) {
        if (isDue) {
            isDue = false;
            resumed(sent, grant.ttlMillis());
        }
    }

    private void resumed(ClockReading sent, long ttlMillis) {
        if (refusedAs != null) {
            releaseAfterAll();
            return;
        }
        lease.extend(new LeaseView(sent, ttlMillis));
        confirmedHere();
        turnsEnded(ReleaseOutcome.RELEASED); // While a lease is resumed, it is not passed on.
    }

    /** From any thread; blocks until answered, refused or late. What came of it shows in the lease. */
    void renewNow(long timeoutNanos) throws InterruptedException {
        session.loop().execute(this::acceptNow); // An offer is nothing to renew.
        DeadlineCall<Boolean> renewal = new DeadlineCall<>(
                session,
                GrantCalls.renew(grant).build(),
                this::renewed,
                rejection -> new LockUnavailableException(grant.lock(), rejection));
        CompletableFuture<Boolean> answer = renewal.start(timeoutNanos).exceptionally(failure -> {
            if (failure instanceof RejectedException refused
                    && RejectionAction.of(refused.reason()) == RejectionAction.LEASE_LOST) {
                session.loop().execute(() -> lost(refused.rejection()));
            }
            return false;
        });
        boolean ignored = session.blockingWait().interruptibly(answer, Duration.ofNanos(timeoutNanos), false);
    }

    private boolean renewed(Reply reply, ClockReading sent) {
        if (!reply.hasRenew()) {
            throw RejectedException.malformed("a renew was answered with " + reply.getReplyCase());
        }
        lease.extend(new LeaseView(sent, confirmed(reply.getRenew().getTtlMillis())));
        return true;
    }

    private void lost(Reply reply, LostReason otherwise) {
        if (reply.hasRejected()) {
            lost(ProtoMapper.rejection(reply.getRejected()));
        } else {
            lease.lostAtServer(otherwise, "");
        }
    }

    private void lost(Rejection rejection) {
        lease.lostAtServer(ProtoMapper.lostReason(rejection), ProtoMapper.lostDetail(rejection));
    }

    /** What the server says it renewed for, if that is less than it granted. */
    private long confirmed(long ttlMillis) {
        return ttlMillis > 0 ? Math.min(ttlMillis, grant.ttlMillis()) : grant.ttlMillis();
    }

    private boolean repeat(@Nullable PendingCall errand, Reply reply) {
        Rejection rejection = ProtoMapper.rejection(reply.getRejected());
        RejectionAction action = RejectionAction.of(rejection.reason());
        if (errand == null || (action != RejectionAction.RETRY && action != RejectionAction.RESEND)) {
            return false;
        }
        session.retry(errand, retryDelay.nextNanos(rejection));
        return true;
    }

    // ---- release

    /** A resume on its way is waited for: a store that had forgotten the lease knows it again once that is answered. */
    void release() {
        if (acceptTimer != null) {
            session.loop().cancel(acceptTimer);
            acceptTimer = null;
            accept = null;
            releasesOffer = true;
        }
        release = CallbackCall.acrossStreams(
                this::releaseCall, this::releaseAnswered, () -> releaseEnded(ReleaseOutcome.UNKNOWN));
        releaseLimit = session.loop()
                .schedule(grant.ttlMillis() * NANOS_PER_MILLI, () -> unsettled("no answer to the release of "));
        session.start(release);
    }

    private Call.Builder releaseCall() {
        releasesInDoubt++;
        return GrantCalls.release(grant);
    }

    private void releaseAnswered(Reply reply, ClockReading sent) {
        if (reply.hasRelease()) {
            releaseEnded(ReleaseOutcome.RELEASED);
        } else if (!reply.hasRejected()) {
            unsettled("a garbled answer to the release of ");
        } else {
            Rejection rejection = ProtoMapper.rejection(reply.getRejected());
            switch (RejectionAction.of(rejection.reason())) {
                case RETRY -> {
                    releasesInDoubt--;
                    repeatRelease(retryDelay.nextNanos(rejection));
                }
                case RESEND -> repeatRelease(retryDelay.nextNanos(rejection));
                case LEASE_LOST -> {
                    releasesInDoubt--;
                    if (releasesOffer) {
                        // Lapsed: the waiter is back in the queue, with nobody behind it.
                        session.leave(grant.lock().value(), asked.requestId());
                    }
                    // An earlier sending may have released it, and the server may have forgotten that end.
                    boolean forgotten = releasesInDoubt > 0 && rejection.reason() == Reason.NOT_HOLDER;
                    refusedAs = forgotten ? ReleaseOutcome.UNKNOWN : ReleaseOutcome.ALREADY_LOST;
                    if (accept == null && !resuming()) {
                        nothingToRelease();
                    }
                }
                case REPORT, THROW -> unsettled("a refused release of ");
            }
        }
    }

    /** The release overtook what was to keep the lease. Now there is something to release. */
    private void releaseAfterAll() {
        refusedAs = null;
        repeatRelease(0);
    }

    private void nothingToRelease() {
        if (refusedAs != null) {
            releaseEnded(refusedAs);
        }
    }

    private void repeatRelease(long delayNanos) {
        if (release != null) {
            session.retry(release, delayNanos);
        }
    }

    private void unsettled(String what) {
        releaseEnded(ReleaseOutcome.UNKNOWN);
        session.renewConnection(what + grant.lock());
    }

    private void releaseEnded(ReleaseOutcome outcome) {
        session.loop().cancel(releaseLimit);
        session.finish(release);
        isDue = false;
        session.finish(resume);
        turnsEnded(outcome);
        lease.releaseEnded(outcome);
    }
}
