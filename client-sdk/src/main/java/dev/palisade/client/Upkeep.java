package dev.palisade.client;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Reply;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What is said to the server about one lease: accept an offer, resume on a new stream, renew at once, release. In the loop
 * only. It reports to {@link HeldLease}, which alone decides what the lease is.
 */
final class Upkeep {
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final Session session;
    private final HeldLease lease;
    private final Grant grant;
    private final Grant.Asked asked;
    private final Retry retry = new Retry();

    /** The first keep-alive of the present stream that renews this lease. */
    private long confirmedFrom = Long.MAX_VALUE;

    private long acceptedOn;

    @Nullable
    private Errand accept;

    @Nullable
    private Errand resume;

    @Nullable
    private Errand release;

    private Timeline.@Nullable Entry releaseLimit;
    private boolean releaseRefused;

    Upkeep(Session session, HeldLease lease, Grant grant, Grant.Asked asked) {
        this.session = session;
        this.lease = lease;
        this.grant = grant;
        this.asked = asked;
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
        if (accept == null) {
            resume();
        }
    }

    void stop() {
        session.finish(accept);
        session.finish(resume);
    }

    // ---- accept

    void accept() {
        acceptedOn = session.generation();
        accept = Ask.lasting(() -> Calls.accept(grant, session.id()), this::acceptAnswered);
        session.start(accept);
    }

    private void acceptAnswered(Reply reply, Moment sent) {
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
        if (releaseRefused) {
            releaseEnded(ReleaseOutcome.ALREADY_LOST);
        }
    }

    private void accepted(Moment sent) {
        if (releaseRefused) {
            // The release overtook the accept. Now there is something to release.
            releaseRefused = false;
            repeatRelease(0);
        } else if (acceptedOn == session.generation()) {
            lease.extend(new LeaseView(sent, grant.ttlMillis()));
            confirmedHere();
        } else if (lease.held()) {
            // The answer may be an earlier sending's, given to an earlier stream.
            resume();
        }
    }

    // ---- resume and renew

    private void resume() {
        if (resume == null || resume.done()) {
            resume = Ask.lasting(
                    () -> Calls.resume(grant, asked, session.id(), session.generation()), this::resumeAnswered);
            session.start(resume);
        }
    }

    private void resumeAnswered(Reply reply, Moment sent) {
        if (reply.hasRejected() && repeat(resume, reply)) {
            return;
        }
        session.finish(resume);
        if (reply.hasResume()) {
            lease.extend(new LeaseView(sent, confirmed(reply.getResume().getTtlMillis())));
            confirmedHere();
        } else {
            lost(reply, LostReason.UNKNOWN_TO_SERVER);
        }
    }

    /** From any thread; blocks until answered, refused or late. What came of it shows in the lease. */
    void renewNow(long timeoutNanos) {
        Inquiry<Boolean> inquiry = new Inquiry<>(
                session,
                Calls.renew(grant).build(),
                this::renewed,
                rejection -> new LockUnavailableException(grant.lock(), rejection));
        CompletableFuture<Boolean> answer = inquiry.ask(timeoutNanos).exceptionally(failure -> {
            if (failure instanceof RejectedException refused && Remedy.of(refused.reason()) == Remedy.LOST) {
                session.loop().execute(() -> lost(refused.rejection()));
            }
            return false;
        });
        boolean ignored = session.waiting().uninterruptibly(answer, Duration.ofNanos(timeoutNanos), false);
    }

    private boolean renewed(Reply reply, Moment sent) {
        if (!reply.hasRenew()) {
            throw RejectedException.malformed("a renew was answered with " + reply.getReplyCase());
        }
        lease.extend(new LeaseView(sent, confirmed(reply.getRenew().getTtlMillis())));
        return true;
    }

    private void lost(Reply reply, LostReason otherwise) {
        if (reply.hasRejected()) {
            lost(Wire.rejection(reply.getRejected()));
        } else {
            lease.lostAtServer(otherwise, "");
        }
    }

    private void lost(Rejection rejection) {
        lease.lostAtServer(Wire.lostReason(rejection), Wire.lostDetail(rejection));
    }

    /** What the server says it renewed for, if that is less than it granted. */
    private long confirmed(long ttlMillis) {
        return ttlMillis > 0 ? Math.min(ttlMillis, grant.ttlMillis()) : grant.ttlMillis();
    }

    private boolean repeat(@Nullable Errand errand, Reply reply) {
        Rejection rejection = Wire.rejection(reply.getRejected());
        Remedy remedy = Remedy.of(rejection.reason());
        if (errand == null || (remedy != Remedy.RETRY && remedy != Remedy.ASK_AGAIN)) {
            return false;
        }
        session.again(errand, retry.delayNanos(rejection));
        return true;
    }

    // ---- release

    void release() {
        session.finish(resume);
        release = Ask.lasting(() -> Calls.release(grant), this::releaseAnswered);
        releaseLimit =
                session.loop().in(grant.ttlMillis() * NANOS_PER_MILLI, () -> unsettled("no answer to the release of "));
        session.start(release);
    }

    private void releaseAnswered(Reply reply, Moment sent) {
        if (reply.hasRelease()) {
            releaseEnded(ReleaseOutcome.RELEASED);
        } else if (!reply.hasRejected()) {
            unsettled("a garbled answer to the release of ");
        } else {
            Rejection rejection = Wire.rejection(reply.getRejected());
            switch (Remedy.of(rejection.reason())) {
                case RETRY, ASK_AGAIN -> repeatRelease(retry.delayNanos(rejection));
                case LOST -> {
                    if (accept == null) {
                        releaseEnded(ReleaseOutcome.ALREADY_LOST);
                    } else {
                        releaseRefused = true;
                    }
                }
                case TELL, THROW -> unsettled("a refused release of ");
            }
        }
    }

    private void repeatRelease(long delayNanos) {
        if (release != null) {
            session.again(release, delayNanos);
        }
    }

    private void unsettled(String what) {
        releaseEnded(ReleaseOutcome.UNKNOWN);
        session.renewConnection(what + grant.lock());
    }

    private void releaseEnded(ReleaseOutcome outcome) {
        session.loop().cancel(releaseLimit);
        session.finish(release);
        lease.releaseEnded(outcome);
    }
}
