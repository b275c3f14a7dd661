package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LostReason;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.ServerFrame;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ReconnectTest extends Fixture {
    @Test
    void theFirstFrameIsHelloAndTheGenerationRises() {
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(server.links).hasSize(2);
        for (int i = 0; i < 2; i++) {
            var first = server.links.get(i).frames.get(0);
            assertThat(first.getHello().getSessionGen()).isEqualTo(i + 1);
            assertThat(first.getHello().getSessionId())
                    .isEqualTo(server.links.get(0).frames.get(0).getHello().getSessionId())
                    .hasSize(16);
            assertThat(first.getHello().getOwner()).isEqualTo("test");
        }
    }

    @Test
    void lostAcquireIsSentAgainUnderTheSameId() {
        server.script = ScriptedServer.silentOn(Call::hasAcquire, server::grantAll);
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long asked = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        time.advanceMillis(400);
        server.script = server::grantAll;
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(last(CallCase.ACQUIRE).getAcquire().getRequestId()).isEqualTo(asked);
        assertThat(last(CallCase.ACQUIRE).getAcquire().getAgeMillis()).isBetween(400L, 500L);
        assertThat(last(CallCase.ACQUIRE).getAcquire().getWaitMillis()).isBetween(59_500L, 59_600L);
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void grantWhoseReplyWasLostIsResumedBeforeItsUse() {
        List<Granted> once = new ArrayList<>();
        server.script = call -> {
            if (call.hasAcquire()) {
                if (once.isEmpty()) {
                    once.add(server.grant(call.getAcquire()));
                    return null;
                }
                return ScriptedServer.granted(once.get(0));
            }
            return call.hasResume() ? null : server.grantAll(call);
        };
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(result).isNotDone();
        Call resume = last(CallCase.RESUME);
        assertThat(resume.getResume().getGrantId()).isEqualTo(once.get(0).getGrantId());
        assertThat(resume.getResume().getSessionGen()).isEqualTo(2);
        time.advanceMillis(200);
        server.link().answer(resume, server.grantAll(resume));
        // The resume was sent with the stream at once; its reply took 300 ms.
        assertThat(leaseOf(result).validFor()).isEqualTo(Duration.ofMillis(8_971 - 300));
    }

    @Test
    void refusedResumeOfSuchAGrantReleasesItAndRequestsAnew() {
        server.script = ScriptedServer.silentOn(Call::hasAcquire, server::grantAll);
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        server.script = call -> call.hasResume() ? ScriptedServer.rejected("NOT_HOLDER") : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(1_000);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(leaseOf(result).token().value()).isEqualTo(33L);
    }

    @Test
    void waitKeepsItsRequestIdAcrossStreams() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long asked = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(last(CallCase.ACQUIRE).getAcquire().getRequestId()).isEqualTo(asked);
        Granted granted = offerFresh();
        assertThat(leaseOf(result).token().value()).isEqualTo(granted.getToken());
    }

    @Test
    void anOfferThatOvertakesTheAnswerToItsRepeatedAcquireIsKept() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        server.script = ScriptedServer.silentOn(Call::hasAcquire, server::queueAll);
        server.link().breakOff();
        time.advanceMillis(100);
        Call repeated = last(CallCase.ACQUIRE);
        Granted granted = offerFresh();
        Lease lease = leaseOf(result);
        // The server met the repetition after the offer: for it that is as good as an accept.
        server.link().answer(repeated, ScriptedServer.granted(granted));
        assertThat(lease.isValid()).isTrue();
        assertThat(count(CallCase.RELEASE)).isZero();
        assertThat(count(CallCase.LEAVE)).isZero();
    }

    @Test
    void waiterDroppedDuringAnOutageRequestsAnew() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long asked = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        server.script = call -> call.hasAcquire() && call.getAcquire().getRequestId() == asked
                ? ScriptedServer.timedOut()
                : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(3_000);
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void heldLeasesAreResumedAndCountOnlyOnceConfirmed() {
        Lease lease = held();
        server.script = ScriptedServer.silentOn(Call::hasResume, server::grantAll);
        time.advanceMillis(1_000);
        server.link().breakOff();
        time.advanceMillis(100);
        Call resume = last(CallCase.RESUME);
        assertThat(resume.getResume().getToken()).isEqualTo(lease.token().value());
        assertThat(resume.getResume().getSessionGen()).isEqualTo(2);
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971 - 1_100));
        time.advanceMillis(900);
        server.link().answer(resume, server.grantAll(resume));
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971 - 1_000));
    }

    @Test
    void resumeCarriesTheGrantAndItsRequestParams() {
        Lease lease = leaseOf(acquire(TRY.ttl(Duration.ofSeconds(9))
                .lockDelay(Duration.ofSeconds(3))
                .lockAtLeastFor(Duration.ofMinutes(5))
                .purpose("to count")));
        long asked = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        server.link().breakOff();
        time.advanceMillis(100);
        ResumeRequest resume = last(CallCase.RESUME).getResume();
        assertThat(resume.getSequencer().toByteArray())
                .isEqualTo(lease.sequencer().toBytes());
        assertThat(resume.getRequestId()).isEqualTo(asked);
        assertThat(resume.getTtlMillis()).isEqualTo(9_000);
        assertThat(resume.getLockDelayMillis()).isEqualTo(3_000);
        assertThat(resume.getLockAtLeastForMillis()).isEqualTo(300_000);
        assertThat(resume.getPurpose()).isEqualTo("to count");
    }

    @Test
    void keepAlivesOfTheNewStreamDoNotExtendWhatIsNotResumed() {
        Lease lease = held();
        server.script = ScriptedServer.silentOn(Call::hasResume, server::grantAll);
        server.link().breakOff();
        time.advanceMillis(4_000);
        assertThat(server.link().keepAlives()).isGreaterThanOrEqualTo(1);
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971 - 4_000));
    }

    @Test
    void leasesAreResumedTogetherAndThoseThatAreNotByThemselves() {
        server.resumeManyMax = 2;
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            leases.add(leaseOf(client.acquireAsync(LOCK + i, TRY)));
        }
        Lease unknown = leases.get(3);
        server.script = call -> {
            Reply.Builder reply = server.grantAll(call);
            if (call.hasResumeMany()) {
                call.getResumeMany().getGrantsList().stream()
                        .filter(grant -> grant.getToken() == unknown.token().value())
                        .forEach(grant -> reply.getResumeManyBuilder().addNotResumed(grant.getGrantId()));
            }
            return call.hasResume() ? null : reply;
        };
        time.advanceMillis(1_000);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(server.link().calls(CallCase.RESUME_MANY).stream()
                        .map(call -> call.getResumeMany().getGrantsCount()))
                .containsExactly(2, 2, 1);
        Call alone = last(CallCase.RESUME);
        assertThat(count(CallCase.RESUME)).isEqualTo(1);
        assertThat(alone.getResume().getSequencer().toByteArray())
                .isEqualTo(unknown.sequencer().toBytes());
        for (Lease lease : leases) {
            long since = lease == unknown ? 1_100 : 0;
            assertThat(lease.validFor())
                    .isBetween(Duration.ofMillis(8_971 - since - 100), Duration.ofMillis(8_971 - since));
        }
        server.link().answer(alone, server.grantAll(alone));
        assertThat(unknown.validFor()).isGreaterThanOrEqualTo(Duration.ofMillis(8_971 - 100));
    }

    /** The next stream may be to a server that resumes each by itself, as one of before does. */
    @Test
    void whatWasToBeResumedTogetherIsResumedOnTheNextStream() {
        server.resumeManyMax = 256;
        Lease first = leaseOf(client.acquireAsync("a", TRY));
        Lease second = leaseOf(client.acquireAsync("b", TRY));
        server.script = ScriptedServer.silentOn(Call::hasResumeMany, server::grantAll);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(count(CallCase.RESUME_MANY)).isEqualTo(1);
        CompletableFuture<ReleaseOutcome> released = second.releaseAsync().toCompletableFuture();
        server.resumeManyMax = 0;
        server.link().breakOff();
        time.advanceMillis(1_000);
        assertThat(count(CallCase.RESUME_MANY)).isZero();
        assertThat(count(CallCase.RESUME)).isEqualTo(1);
        assertThat(first.validFor()).isGreaterThanOrEqualTo(Duration.ofMillis(8_971 - 1_000));
        assertThat(released).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    @Test
    void aLeaseThatEndsWhileItIsResumedWithOthersEndsTheStream() {
        server.resumeManyMax = 256;
        Lease shorter = leaseOf(client.acquireAsync("a", TRY.ttl(Duration.ofSeconds(2))));
        Lease longer = leaseOf(client.acquireAsync("b", TRY));
        server.fallSilent();
        server.script = ScriptedServer.silentOn(Call::hasResumeMany, server.script);
        server.link().breakOff();
        time.advanceMillis(100);
        int streams = server.links.size();
        time.advanceMillis(2_000);
        assertThat(shorter.isValid()).isFalse();
        assertThat(server.links).hasSizeGreaterThan(streams);
        server.script = server::grantAll;
        server.answersKeepAlives = true;
        server.link().breakOff();
        time.advanceMillis(1_000);
        assertThat(last(CallCase.RESUME_MANY).getResumeMany().getGrantsList())
                .extracting(ResumedGrant::getToken)
                .containsExactly(longer.token().value());
        assertThat(longer.validFor()).isGreaterThanOrEqualTo(Duration.ofMillis(8_971 - 1_000));
    }

    @Test
    void aLeaseThatIsForceReleasedWhileItIsResumedWithOthersEndsTheStream() {
        server.resumeManyMax = 256;
        Lease forced = leaseOf(client.acquireAsync("a", TRY));
        Lease kept = leaseOf(client.acquireAsync("b", TRY));
        server.script = ScriptedServer.silentOn(Call::hasResumeMany, server::grantAll);
        server.link().breakOff();
        time.advanceMillis(100);
        int streams = server.links.size();
        server.link().push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(forced))));
        server.script = server::grantAll;
        time.advanceMillis(500);
        assertThat(server.links).hasSize(streams + 1);
        assertThat(last(CallCase.RESUME_MANY).getResumeMany().getGrantsList())
                .extracting(ResumedGrant::getToken)
                .containsExactly(kept.token().value());
        assertThat(forced.lostReason()).contains(LostReason.FORCE_RELEASED);
        assertThat(kept.isValid()).isTrue();
    }

    /** As after a pause of the process: the reply is there, and no timer has run. */
    @Test
    void aLeaseThatEndsBeforeItsReplyIsReadTakesNoOtherWithIt() {
        server.resumeManyMax = 256;
        Lease shorter = held();
        Lease longer = leaseOf(client.acquireAsync("b", TRY.ttl(Duration.ofSeconds(30))));
        Call resume = pausesBeforeTheReplyToTheResume();
        server.link().answer(resume, server.grantAll(resume));
        time.advanceMillis(100);
        assertThat(shorter.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        assertThat(server.links).as("the server may renew the lost one").hasSize(3);
        assertThat(last(CallCase.RESUME_MANY).getResumeMany().getGrantsList())
                .extracting(ResumedGrant::getToken)
                .containsExactly(longer.token().value());
        assertThat(longer.validFor()).isGreaterThan(Duration.ofSeconds(29));
    }

    @Test
    void aGrantBehindALeaseThatEndsIsResumedOnTheNextStream() {
        server.resumeManyMax = 256;
        Lease shorter = held();
        Call resume = pausesBeforeTheReplyToTheResume();
        server.script = ScriptedServer.silentOn(Call::hasAcquire, server::grantAll);
        CompletableFuture<AcquireResult> result = client.acquireAsync("b", TRY.ttl(Duration.ofSeconds(30)));
        Call acquire = last(CallCase.ACQUIRE);
        server.script = server::grantAll;
        server.link()
                .push(ServerFrame.newBuilder()
                        .addReplies(server.grantAll(resume).setCallId(resume.getCallId()))
                        .addReplies(server.grantAll(acquire).setCallId(acquire.getCallId())));
        time.advanceMillis(100);
        assertThat(shorter.isValid()).isFalse();
        assertThat(server.links).hasSize(3);
        assertThat(last(CallCase.RESUME_MANY).getResumeMany().getGrantsList())
                .extracting(ResumedGrant::getToken)
                .containsExactly(leaseOf(result).token().value());
    }

    private Call pausesBeforeTheReplyToTheResume() {
        server.script = ScriptedServer.silentOn(Call::hasResumeMany, server::grantAll);
        server.link().breakOff();
        time.advanceMillis(100);
        Call resume = last(CallCase.RESUME_MANY);
        server.script = server::grantAll;
        time.passUnnoticedMillis(9_000);
        return resume;
    }

    @Test
    void leasesWithLongNamesAreResumedInFramesThatTheServerTakes() {
        server.resumeManyMax = 256;
        server.callsInFlightMax = 4_096;
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            leases.add(leaseOf(client.acquireAsync("n".repeat(250) + i, TRY)));
        }
        server.script = ScriptedServer.silentOn(Call::hasResumeMany, server::grantAll);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(server.links.get(0).frames.get(0).getHello().getResumes()).isZero();
        assertThat(server.link().frames.get(0).getHello().getResumes()).isEqualTo(5_000);
        assertThat(server.link().frames)
                .allMatch(frame -> frame.getSerializedSize() < 100_000)
                .as("as many as may be in flight")
                .flatExtracting(frame -> frame.getCallsList())
                .hasSize(16);
        server.script = server::grantAll;
        server.link().calls(CallCase.RESUME_MANY).forEach(call -> server.link().answer(call, server.grantAll(call)));
        assertThat(server.link().calls(CallCase.RESUME_MANY)).hasSize(20);
        time.advanceMillis(8_000);
        assertThat(leases).allMatch(Lease::isValid);
        assertThat(server.links).hasSize(2);
    }

    @Test
    void aRefusedResumeIsALoss() {
        Lease lease = held();
        List<LostReason> lost = new ArrayList<>();
        lease.onLost(lost::add);
        server.script = call -> call.hasResume() ? ScriptedServer.rejected("LEASE_EXPIRED") : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(lost).containsExactly(LostReason.EXPIRED);
        assertThat(lease.lostReason()).contains(LostReason.EXPIRED);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aReleaseInFlightIsSaidAgainUntilAnswered() {
        Lease lease = held();
        server.script = ScriptedServer.silentOn(Call::hasRelease, server::grantAll);
        ((LeaseHandle) lease).lease().releaseInLoop();
        server.script = server::grantAll;
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(count(CallCase.RESUME)).isZero();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    /** The first may have released it, and the server may have forgotten that since. */
    @Test
    void aRepeatedReleaseThatFindsNothingIsUnknown() {
        Lease lease = held();
        server.script = ScriptedServer.silentOn(Call::hasRelease, server::grantAll);
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
        server.script = call -> call.hasRelease() ? ScriptedServer.rejected("NOT_HOLDER") : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(released).isCompletedWithValue(ReleaseOutcome.UNKNOWN);
    }

    @Test
    void aRepeatedReleaseThatFindsAnEndIsAlreadyLost() {
        Lease lease = held();
        server.script = ScriptedServer.silentOn(Call::hasRelease, server::grantAll);
        CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
        server.script = call -> call.hasRelease() ? ScriptedServer.rejected("LEASE_EXPIRED") : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(released).isCompletedWithValue(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void whatIsReleasedBeforeItsResumeIsAnsweredIsNotResumedAgain() {
        Lease lease = held();
        server.script = call -> null;
        server.link().breakOff();
        time.advanceMillis(50);
        ((LeaseHandle) lease).lease().releaseInLoop();
        server.script = server::grantAll;
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(server.links).hasSize(3);
        assertThat(count(CallCase.RESUME)).isZero();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    /** A store that lost the lease refuses its release, and then has it again by the resume that came first. */
    @Test
    void aReleaseThatOvertookItsResumeIsSaidAgain() {
        Lease lease = held();
        server.script = call -> call.hasResume()
                ? null
                : call.hasRelease() ? ScriptedServer.rejected("NOT_HOLDER") : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        ((LeaseHandle) lease).lease().releaseInLoop();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        server.script = server::grantAll;
        server.link().answer(last(CallCase.RESUME), server.grantAll(last(CallCase.RESUME)));
        time.advanceMillis(1);
        assertThat(count(CallCase.RELEASE)).isEqualTo(2);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aReleaseRefusedWithItsResumeFoundNothing() {
        Lease lease = held();
        server.script = call -> call.hasResume() ? null : ScriptedServer.rejected("NOT_HOLDER");
        server.link().breakOff();
        time.advanceMillis(100);
        ((LeaseHandle) lease).lease().releaseInLoop();
        server.link().answer(last(CallCase.RESUME), ScriptedServer.rejected("NOT_HOLDER"));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void aReleaseRefusedBeforeItsResumeWasAnsweredIsSaidAgainOnTheNextStream() {
        Lease lease = held();
        server.script = call -> call.hasResume() ? null : ScriptedServer.rejected("NOT_HOLDER");
        server.link().breakOff();
        time.advanceMillis(100);
        ((LeaseHandle) lease).lease().releaseInLoop();
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(count(CallCase.RESUME)).isZero();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    /** The server may find the lease later, and would renew it on this stream without a holder. */
    @Test
    void lossReportedDuringAResumeDropsTheStream() {
        Lease lease = held();
        server.script = call -> call.hasResume() ? null : server.grantAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        server.link().push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(lease))));
        time.advanceMillis(100);
        assertThat(server.links).hasSize(3);
        assertThat(count(CallCase.RESUME)).isZero();
    }

    @Test
    void aHandedOverOfferIsAcceptedAgainAndThenResumed() {
        server.script = ScriptedServer.silentOn(Call::hasAccept, server::queueAll);
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        Granted granted = offerFresh();
        Lease lease = leaseOf(result);
        server.script = call -> call.hasAccept() ? ScriptedServer.accepted(granted) : server.queueAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(count(CallCase.ACCEPT)).isEqualTo(1);
        assertThat(count(CallCase.RESUME)).isEqualTo(1);
        assertThat(lease.validFor()).isGreaterThan(Duration.ofMillis(8_800));
    }

    @Test
    void aStreamWithoutWelcomeIsGivenUpAfterTheConnectTimeout() {
        server.welcoming = false;
        server.link().breakOff();
        time.advanceMillis(50);
        assertThat(server.links).hasSize(2);
        time.advanceMillis(2_100);
        assertThat(server.links.get(1).cancelled).isTrue();
        server.welcoming = true;
        time.advanceMillis(3_000);
        assertThat(held().isValid()).isTrue();
    }

    @Test
    void aFrozenLinkIsDroppedAtHalfTheTtlAndTheLeaseLivesOn() {
        Lease lease = held();
        server.answersKeepAlives = false;
        time.advanceMillis(7_400);
        // keep-alive due at 3 s, given up 4.5 s later
        assertThat(server.links).hasSize(1);
        server.answersKeepAlives = true;
        time.advanceMillis(200);
        assertThat(server.links).hasSize(2);
        assertThat(server.links.get(0).cancelled).isTrue();
        assertThat(lease.validFor()).isGreaterThan(Duration.ofMillis(8_800));
    }

    @Test
    void attemptsBackOffButNeverEnd() {
        server.welcoming = false;
        for (int i = 0; i < 20; i++) {
            server.link().breakOff();
            time.advanceMillis(1_000);
            assertThat(server.links.size()).isGreaterThan(i + 1);
        }
    }
}
