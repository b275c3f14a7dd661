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
 * The client side of the lease protocol for one grant: its calls to accept an offer, resume on a new stream, renew and
 * release. In the loop only. It never decides the state of the lease: it reports replies to {@link GrantedLease}.
 */
final class LeaseProtocol {
    private static final long NANOS_PER_MILLI = 1_000_000;
    /** Delay before an offer is accepted. It is far shorter than the rest of an offer that is used. */
    private static final long ACCEPT_WITHIN_NANOS = 2 * NANOS_PER_MILLI;

    private final Session session;
    private final Grant grant;
    private final Grant.RequestParams params;
    private final RetryDelay retryDelay = new RetryDelay();
    /** The present local holder. */
    private GrantedLease lease;

    /** The first keep-alive of the present stream that renews this lease. */
    private long confirmedFrom = Long.MAX_VALUE;

    private long acceptGeneration;

    @Nullable
    private PendingCall accept;

    /** Whether {@link Resumptions} resumes it: on the next stream, or by a call that is in flight. */
    private boolean isResumeDue;

    @Nullable
    private PendingCall resume;

    @Nullable
    private PendingCall release;

    /** The renewal that confirms hand-offs. */
    @Nullable
    private PendingCall confirm;

    /** Holders whose hand-off that renewal confirms. */
    private final List<GrantedLease> confirming = new ArrayList<>(0);
    /** Holders that handed the lease off after that renewal was sent. */
    private final List<GrantedLease> unconfirmed = new ArrayList<>(0);

    /** Set until the accept is sent. */
    private TimerQueue.@Nullable ScheduledTask acceptTimer;

    private TimerQueue.@Nullable ScheduledTask releaseLimit;
    /** Number of sent releases that may have been applied, as far as replies show. */
    private int releasesInDoubt;

    /**
     * Outcome of a refused release, unless an accept or resume finds the lease after all; null if it is not refused.
     */
    @Nullable
    private ReleaseOutcome refusedOutcome;

    private boolean releasesOffer;

    LeaseProtocol(Session session, GrantedLease lease, Grant grant, Grant.RequestParams params) {
        this.session = session;
        this.lease = lease;
        this.grant = grant;
        this.params = params;
    }

    Grant grant() {
        return grant;
    }

    /** Records a hand-off. Like a release it is confirmed by a reply: to a renewal that is sent after the hand-off. */
    void handedOff(GrantedLease before, GrantedLease successor) {
        lease = successor;
        unconfirmed.add(before);
        acceptNow(); // Offers are not renewed.
        if (confirm == null || confirm.done()) {
            confirm();
        }
    }

    private void confirm() {
        confirming.addAll(unconfirmed);
        unconfirmed.clear();
        confirm = CallbackCall.acrossStreams(
                () -> GrantCalls.renew(grant), this::confirmAnswered, () -> endHandoffs(ReleaseOutcome.UNKNOWN));
        session.start(confirm);
    }

    private void confirmAnswered(Reply reply, ClockReading sent) {
        if (reply.hasRejected() && retryIfTransient(confirm, reply)) {
            return;
        }
        if (!reply.hasRenew() && accept != null && confirm != null) {
            // The accept is sent again first: offers are not renewed.
            session.retry(confirm, retryDelay.nextNanos());
            return;
        }
        session.finish(confirm);
        if (!reply.hasRenew() && release != null) {
            return; // The release may have ended the lease before. Its reply also confirms the hand-offs.
        }
        if (!reply.hasRenew()) {
            endHandoffs(ReleaseOutcome.ALREADY_LOST);
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
        confirming.forEach(holder -> holder.completeRelease(ReleaseOutcome.RELEASED));
        confirming.clear();
        if (!unconfirmed.isEmpty()) {
            confirm();
        }
    }

    private void endHandoffs(ReleaseOutcome outcome) {
        session.finish(confirm);
        confirming.addAll(unconfirmed);
        unconfirmed.clear();
        confirming.forEach(holder -> holder.completeRelease(outcome));
        confirming.clear();
    }

    /** Whether the server certainly sees the lease as held by this client. */
    boolean isCertain() {
        return session.connected() && !resuming() && (accept == null || acceptGeneration == session.generation());
    }

    void confirmedOnThisStream() {
        confirmedFrom = session.nextKeepAliveId();
    }

    /** Whether the lease was held on this stream when that keep-alive was sent. */
    boolean confirmedBefore(long keepAliveId) {
        return confirmedFrom <= keepAliveId;
    }

    /** Keeps the old deadline until the lease is confirmed on the next stream. */
    void streamBroken() {
        confirmedFrom = Long.MAX_VALUE;
        // The resume confirms the hand-offs as well. A renewal would overtake it: a store that lost the grant would
        // refuse it.
        session.finish(confirm);
        acceptNow();
        if (accept == null && !resuming()) {
            isResumeDue = true;
            session.resumptions().add(this);
        }
    }

    /** Ends the calls of a lost lease. The grant of a late accept is released as that of a stray reply. */
    void stop(LostReason reason) {
        // The lease was handed off with time left. Its expiry since then does not show that it was lost before.
        boolean endedAtServer = reason == LostReason.FORCE_RELEASED || reason == LostReason.UNKNOWN_TO_SERVER;
        endHandoffs(endedAtServer ? ReleaseOutcome.ALREADY_LOST : ReleaseOutcome.UNKNOWN);
        session.loop().cancel(acceptTimer);
        acceptTimer = null; // Else a late ensureValidFor would send the accept, and no call would end it.
        session.finish(accept);
        if (resuming()) {
            isResumeDue = false;
            session.finish(resume);
            session.renewConnection("the server may yet resume the lost lease of " + grant.lock());
        }
    }

    // ---- accept

    /** Accepts the offer after 2 ms. A holder that releases before declines the offer instead, which saves a call. */
    void accept() {
        acceptGeneration = session.generation();
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
        if (reply.hasRejected() && retryIfTransient(accept, reply)) {
            return;
        }
        session.finish(accept);
        accept = null;
        // The offer lapsed: the request is back in the queue, and no acquire waits for it.
        session.leave(grant.lock().value(), params.requestId());
        lost(reply, LostReason.EXPIRED);
        endRefusedRelease();
    }

    private void accepted(ClockReading sent) {
        if (refusedOutcome != null) {
            releaseAgain();
        } else if (acceptGeneration == session.generation()) {
            lease.extend(new LeaseView(sent, grant.ttlMillis()));
            confirmedOnThisStream();
        } else if (lease.held()) {
            // The reply may be to an earlier sending, on an earlier stream.
            resume();
        }
    }

    // ---- resume and renew

    private boolean resuming() {
        return isResumeDue || (resume != null && !resume.done());
    }

    /** Whether a call of {@link Resumptions} resumes it. */
    boolean isResumeDue() {
        return isResumeDue;
    }

    /** Drops the resume by {@link Resumptions}: its call gets no reply. */
    void dropResume() {
        isResumeDue = false;
    }

    /** Resumes it by a call of its own. */
    void resumeAlone() {
        if (isResumeDue) {
            isResumeDue = false;
            resume();
        }
    }

    private void resume() {
        if (!resuming()) {
            resume = CallbackCall.onThisStream(
                    () -> GrantCalls.resume(grant, params, session.id(), session.generation()), this::resumeAnswered);
            session.start(resume);
        }
    }

    private void resumeAnswered(Reply reply, ClockReading sent) {
        if (lease.held() && reply.hasRejected() && retryIfTransient(resume, reply)) {
            return;
        }
        session.finish(resume);
        if (!reply.hasResume()) {
            lost(reply, LostReason.UNKNOWN_TO_SERVER);
            endRefusedRelease();
        } else {
            resumed(sent, confirmed(reply.getResume().getTtlMillis()));
        }
    }

    /** Handles a resume by a call of {@link Resumptions}. */
    void resumed(ClockReading sent) {
        if (isResumeDue) {
            isResumeDue = false;
            resumed(sent, grant.ttlMillis());
        }
    }

    private void resumed(ClockReading sent, long ttlMillis) {
        if (refusedOutcome != null) {
            releaseAgain();
            return;
        }
        lease.extend(new LeaseView(sent, ttlMillis));
        confirmedOnThisStream();
        endHandoffs(ReleaseOutcome.RELEASED); // There is no hand-off during a resume.
    }

    /**
     * Renews the lease. Blocks until the reply, a refusal or the timeout; the lease shows the outcome. For any thread.
     */
    void renewNow(long timeoutNanos) throws InterruptedException {
        session.loop().execute(this::acceptNow); // Offers are not renewed.
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
            lease.markLost(otherwise, "");
        }
    }

    private void lost(Rejection rejection) {
        lease.markLost(ProtoMapper.lostReason(rejection), ProtoMapper.lostDetail(rejection));
    }

    /** The ttl that the server confirmed, if it is shorter than the granted one. */
    private long confirmed(long ttlMillis) {
        return ttlMillis > 0 ? Math.min(ttlMillis, grant.ttlMillis()) : grant.ttlMillis();
    }

    private boolean retryIfTransient(@Nullable PendingCall call, Reply reply) {
        Rejection rejection = ProtoMapper.rejection(reply.getRejected());
        RejectionAction action = RejectionAction.of(rejection.reason());
        if (call == null || (action != RejectionAction.RETRY && action != RejectionAction.RESEND)) {
            return false;
        }
        session.retry(call, retryDelay.nextNanos(rejection));
        return true;
    }

    // ---- release

    /**
     * Releases the lease. It waits for a resume in flight: after it, a store that had lost the grant knows it again.
     */
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
                .schedule(grant.ttlMillis() * NANOS_PER_MILLI, () -> releaseUnknown("no answer to the release of "));
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
            releaseUnknown("a garbled answer to the release of ");
        } else {
            Rejection rejection = ProtoMapper.rejection(reply.getRejected());
            switch (RejectionAction.of(rejection.reason())) {
                case RETRY -> {
                    releasesInDoubt--;
                    retryRelease(retryDelay.nextNanos(rejection));
                }
                case RESEND -> retryRelease(retryDelay.nextNanos(rejection));
                case LEASE_LOST -> {
                    releasesInDoubt--;
                    if (releasesOffer) {
                        // The offer lapsed: the request is back in the queue, and no acquire waits for it.
                        session.leave(grant.lock().value(), params.requestId());
                    }
                    // An earlier sending may have released it, and the server may have forgotten that.
                    boolean forgotten = releasesInDoubt > 0 && rejection.reason() == Reason.NOT_HOLDER;
                    refusedOutcome = forgotten ? ReleaseOutcome.UNKNOWN : ReleaseOutcome.ALREADY_LOST;
                    if (accept == null && !resuming()) {
                        endRefusedRelease();
                    }
                }
                case REPORT, THROW -> releaseUnknown("a refused release of ");
            }
        }
    }

    /** Sends the release again: it had overtaken the accept or the resume, which found the lease. */
    private void releaseAgain() {
        refusedOutcome = null;
        retryRelease(0);
    }

    private void endRefusedRelease() {
        if (refusedOutcome != null) {
            releaseEnded(refusedOutcome);
        }
    }

    private void retryRelease(long delayNanos) {
        if (release != null) {
            session.retry(release, delayNanos);
        }
    }

    private void releaseUnknown(String what) {
        releaseEnded(ReleaseOutcome.UNKNOWN);
        session.renewConnection(what + grant.lock());
    }

    private void releaseEnded(ReleaseOutcome outcome) {
        session.loop().cancel(releaseLimit);
        session.finish(release);
        isResumeDue = false;
        session.finish(resume);
        endHandoffs(outcome);
        lease.completeRelease(outcome);
    }
}
