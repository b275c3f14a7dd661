package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class OfferTest extends Fixture {
    @BeforeEach
    void queueAcquiresAndLeaveAcceptsUnanswered() {
        server.script = ScriptedServer.silentOn(Call::hasAccept, server::queueAll);
    }

    @Test
    void aFreshOfferIsHandedOverAtOnceAndAcceptedBesides() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        Granted granted = offerFresh();
        Lease lease = leaseOf(result);
        // 2 s of offer, less a thousandth, less 20 ms
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(1_978));
        assertThat(count(CallCase.ACCEPT)).as("it may be released before that").isZero();
        time.advanceMillis(2);
        assertThat(last(CallCase.ACCEPT).getAccept().getGrantId()).isEqualTo(granted.getGrantId());

        time.advanceMillis(298);
        server.link().answer(last(CallCase.ACCEPT), ScriptedServer.accepted(granted));
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971 - 298));
    }

    @Test
    void theOfferCountsFromTheEchoedSendingNotFromItsArrival() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long seen = server.link().newestSentNanos();
        time.passUnnoticedMillis(1_000);
        offer(seen);
        assertThat(leaseOf(result).validFor()).isEqualTo(Duration.ofMillis(978));
    }

    @Test
    void aStaleOfferIsHandedOverOnlyWhenItsAcceptIsConfirmed() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long seen = server.link().newestSentNanos();
        time.passUnnoticedMillis(1_729);
        Granted granted = offer(seen);
        assertThat(result).isNotDone();
        server.link().answer(last(CallCase.ACCEPT), ScriptedServer.accepted(granted));
        assertThat(leaseOf(result).validFor()).isEqualTo(Duration.ofMillis(8_971));
    }

    @Test
    void anOfferWithoutAnEchoOrWithAFutureOneIsStale() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offer(0);
        assertThat(result).isNotDone();
        CompletableFuture<AcquireResult> second = acquire(WAIT_MINUTE);
        offer(time.nanos() + 1_000_000_000);
        assertThat(second).isNotDone();
    }

    @Test
    void aWallClockThatJumpedSinceTheEchoMakesTheOfferStale() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long seen = server.link().newestSentNanos();
        time.stepWallMillis(60_000);
        offer(seen);
        assertThat(result).isNotDone();
    }

    @Test
    void anOfferThatHadLapsedGoesBackToWaiting() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offer(0);
        server.link().answer(last(CallCase.ACCEPT), acceptQueued());
        assertThat(result).isNotDone();
        offerFresh();
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void usedOfferWhoseAcceptIsTooLateIsLostAndTheQueueLeft() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offerFresh();
        Lease lease = leaseOf(result);
        List<LostReason> lost = new ArrayList<>();
        lease.onLost(lost::add);
        time.advanceMillis(2);
        server.link().answer(last(CallCase.ACCEPT), acceptQueued());
        assertThat(lost).containsExactly(LostReason.EXPIRED);
        assertThat(lease.isValid()).isFalse();
        assertThat(last(CallCase.LEAVE).getLeave().getRequestId())
                .isEqualTo(last(CallCase.ACQUIRE).getAcquire().getRequestId());
    }

    @Test
    void aHandedOverLeaseEndsWithTheOfferWhenItsAcceptIsNotAnswered() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offerFresh();
        List<LostReason> lost = new ArrayList<>();
        leaseOf(result).onLost(lost::add);
        time.advanceMillis(1_977);
        assertThat(lost).isEmpty();
        time.advanceMillis(2);
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
    }

    @Test
    void keepAlivesDoNotExtendAnUnacceptedOffer() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        CompletableFuture<AcquireResult> other = client.acquireAsync("other", WAIT_MINUTE);
        long seen = server.link().newestSentNanos();
        server.link()
                .offer(
                        server.link()
                                .calls(CallCase.ACQUIRE)
                                .get(0)
                                .getAcquire()
                                .getRequestId(),
                        server.grant(LOCK),
                        2_000,
                        seen);
        time.advanceMillis(1_500);
        assertThat(server.link().keepAlives()).isGreaterThanOrEqualTo(2);
        assertThat(leaseOf(result).validFor()).isEqualTo(Duration.ofMillis(478));
        assertThat(other).isNotDone();
    }

    @Test
    void aReleaseThatOvertookItsAcceptIsSaidAgain() {
        server.script = call -> call.hasAccept()
                ? null
                : call.hasRelease() ? ScriptedServer.rejected("NOT_HOLDER") : server.queueAll(call);
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        Granted granted = offerFresh();
        time.advanceMillis(2);
        ((LeaseHandle) leaseOf(result)).lease().releaseInLoop();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        server.script = server::queueAll;
        server.link().answer(last(CallCase.ACCEPT), ScriptedServer.accepted(granted));
        time.advanceMillis(1);
        assertThat(count(CallCase.RELEASE)).isEqualTo(2);
        assertThat(leaseOf(result).release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void holderThatReleasesAtOnceNeverAccepts() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offerFresh();
        Lease lease = leaseOf(result);
        time.advanceMillis(1);
        server.script = server::grantAll;
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        time.advanceMillis(100);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(count(CallCase.ACCEPT)).isZero();
    }

    @Test
    void anOfferReleasedAfterItHadLapsedAtTheServerIsLost() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offerFresh();
        server.script = call -> call.hasRelease() ? ScriptedServer.rejected("NOT_HOLDER") : server.queueAll(call);
        assertThat(leaseOf(result).release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(last(CallCase.LEAVE).getLeave().getRequestId())
                .as("it may be back in the queue")
                .isEqualTo(last(CallCase.ACQUIRE).getAcquire().getRequestId());
    }

    @Test
    void anAcceptThatTheOldStreamDidNotCarryGoesOutOnTheNext() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        Granted granted = offerFresh();
        server.link().breakOff();
        time.advanceMillis(1_000);
        assertThat(last(CallCase.ACCEPT).getAccept().getGrantId()).isEqualTo(granted.getGrantId());
        server.script = server::grantAll;
        server.link().answer(last(CallCase.ACCEPT), ScriptedServer.accepted(granted));
        assertThat(count(CallCase.RESUME))
                .as("what the new stream holds is said")
                .isEqualTo(1);
        assertThat(leaseOf(result).validFor()).isGreaterThan(Duration.ofSeconds(2));
    }

    /** To the lock machine an offer is no lease yet: a renew that came before the accept would find nothing. */
    @Test
    void holderThatEnsuresAtOnceAcceptsFirst() throws InterruptedException {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        offerFresh();
        server.script = call -> {
            if (call.hasRenew() && count(CallCase.ACCEPT) == 0) {
                return ScriptedServer.rejected("NOT_HOLDER");
            }
            return call.hasAccept() ? null : server.grantAll(call);
        };
        leaseOf(result).ensureValidFor(Duration.ofSeconds(5));
        assertThat(count(CallCase.RENEW)).isEqualTo(1);
        assertThat(leaseOf(result).validFor()).isGreaterThan(Duration.ofSeconds(5));
    }

    @Test
    void duplicateOfferIsNotDeclined() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long requestId = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        Granted granted = offerFresh();
        server.link().offer(requestId, granted, 2_000, server.link().newestSentNanos());
        assertThat(count(CallCase.LEAVE))
                .as("it would end the lease that was handed over")
                .isZero();
        assertThat(leaseOf(result).isValid()).isTrue();

        Granted newer = granted.toBuilder().setToken(granted.getToken() + 1).build();
        server.link().offer(requestId, newer, 2_000, server.link().newestSentNanos());
        assertThat(count(CallCase.LEAVE)).as("another one is").isEqualTo(1);
    }

    /** To the server an offer is no lease: its end is followed by no lock-delay. */
    @Test
    void anOfferWithALockDelayIsHandedOverOnceAccepted() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.lockDelay(Duration.ofSeconds(5)));
        handedOverOnceAccepted(result);
    }

    /** An offer begins no minimum hold time: until its accept it would end without one. */
    @Test
    void anOfferWithAMinimumHoldTimeIsHandedOverOnceAccepted() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.lockAtLeastFor(Duration.ofMinutes(5)));
        handedOverOnceAccepted(result);
    }

    /** An offer is left when its stream breaks, whatever the session says of its leases. */
    @Test
    void anOfferIsHandedOverOnceAcceptedIfLeasesAreKeptOnDisconnect() {
        try (PalisadeClient keeping = client(builder -> builder.keepLeasesOnDisconnect(true))) {
            handedOverOnceAccepted(keeping.acquireAsync(LOCK, WAIT_MINUTE));
        }
    }

    @Test
    void anAcceptLostWithItsStreamHandsNothingOver() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.lockDelay(Duration.ofSeconds(5)));
        Granted granted = offerFresh();
        server.script = call -> call.hasAcquire() ? ScriptedServer.granted(granted) : server.grantAll(call);
        server.link().breakOff();
        assertThat(result).isNotDone();
        time.advanceMillis(1_000);
        assertThat(leaseOf(result).validFor()).isGreaterThan(Duration.ofSeconds(2));
        assertThat(count(CallCase.RESUME)).as("the new stream holds it").isEqualTo(1);
    }

    private void handedOverOnceAccepted(CompletableFuture<AcquireResult> result) {
        Granted granted = offerFresh();
        assertThat(result).isNotDone();
        assertThat(count(CallCase.ACCEPT)).as("without delay").isEqualTo(1);
        server.script = server::grantAll;
        server.link().answer(last(CallCase.ACCEPT), ScriptedServer.accepted(granted));
        assertThat(leaseOf(result).validFor()).isEqualTo(Duration.ofMillis(8_971));
    }

    @Test
    void offerWithoutAWaiterIsDeclined() {
        server.link().offer(77, server.grant(LOCK), 2_000, time.nanos());
        assertThat(last(CallCase.LEAVE).getLeave().getRequestId()).isEqualTo(77);
    }

    private static Reply.Builder acceptQueued() {
        Reply.Builder reply = Reply.newBuilder();
        reply.getAcceptBuilder().getQueuedBuilder().setPosition(1);
        return reply;
    }
}
