package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.ReleaseRequestedEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LossTest extends Fixture {
    private final List<LostReason> lost = new ArrayList<>();

    @Test
    void keepAlivesEveryThirdOfTheTtlHoldALeaseForAsLongAsTheyAreAnswered() {
        Lease lease = held();
        lease.onLost(lost::add);
        time.advance(Duration.ofMinutes(5));
        assertThat(lost).isEmpty();
        assertThat(lease.isValid()).isTrue();
        assertThat(server.link().keepAlives()).isEqualTo(100);
        assertThat(server.links).hasSize(1);
    }

    @Test
    void afterAnIdleHourTheFirstKeepAliveComesAThirdOfTheTtlAfterTheGrant() {
        time.advance(Duration.ofHours(1));
        Lease lease = held();
        time.advanceMillis(2_999);
        assertThat(server.link().keepAlives()).isZero();
        time.advanceMillis(1);
        assertThat(server.link().keepAlives()).isEqualTo(1);
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void theSmallestTtlSetsThePace() {
        Lease slow = held();
        Lease fast = leaseOf(client.acquireAsync("fast", TRY.ttl(Duration.ofSeconds(3))));
        time.advanceMillis(9_000);
        assertThat(server.link().keepAlives()).isEqualTo(9);
        fast.close();
        time.advanceMillis(9_000);
        assertThat(server.link().keepAlives()).isBetween(12L, 13L);
        assertThat(slow.isValid()).isTrue();
    }

    /** A session with ten thousand leases that waits for one more would renew them all twice a second. */
    @Test
    void aWaiterThatHoldsLeasesRenewsThemNoMoreOftenThanTheyNeed() {
        Lease lease = held();
        server.script = server::queueAll;
        var unused = client.acquireAsync("another", WAIT_MINUTE);
        time.advanceMillis(30_000);
        List<dev.palisade.proto.v1.KeepAlive> sent = server.link().frames.stream()
                .filter(ClientFrame::hasKeepAlive)
                .map(ClientFrame::getKeepAlive)
                .toList();
        assertThat(sent).hasSizeBetween(60, 70);
        assertThat(sent.stream().filter(each -> !each.getRenewsNothing())).hasSizeBetween(9, 10);
        assertThat(lease.isValid()).isTrue();
        server.answersKeepAlives = false;
        int streams = server.links.size();
        time.advanceMillis(5_000);
        assertThat(server.links).as("half a ttl after a sign of life").hasSizeGreaterThan(streams);
    }

    @Test
    void theAnswerToASignOfLifeExtendsNothing() {
        Lease lease = held();
        server.answersKeepAlives = false;
        server.script = server::queueAll;
        var unused = client.acquireAsync("another", WAIT_MINUTE);
        time.advanceMillis(4_000);
        server.link()
                .push(ServerFrame.newBuilder()
                        .setKeepAlive(KeepAliveReply.newBuilder()
                                .setKeepAliveId(server.link().keepAlives())));
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971 - 4_000));
    }

    @Test
    void nothingIsSentWhenNothingIsHeld() {
        held().close();
        int frames = server.link().frames.size();
        time.advance(Duration.ofMinutes(5));
        assertThat(server.link().frames).hasSize(frames);
    }

    @Test
    void aSilentServerMeansALossAtTheLocalDeadlineByTimer() {
        Lease lease = held();
        lease.onLost(lost::add);
        server.answersKeepAlives = false;
        server.script = call -> null;
        server.welcoming = false;
        time.advanceMillis(8_970);
        assertThat(lost).isEmpty();
        assertThat(lease.isValid()).isTrue();
        time.advanceMillis(1);
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
        assertThat(lease.isValid()).isFalse();
        time.advanceMillis(60_000);
        assertThat(lost).hasSize(1);
    }

    /** Such as a token that expired: the reason alone sends people to the network. */
    @Test
    void aLossWithoutAConnectionSaysWhyThereIsNone() {
        Lease lease = held();
        server.refusal = new Rejection(Reason.UNAUTHENTICATED, "the JWT of web expired");
        server.link().breakOff();
        time.advanceMillis(9_000);
        assertThat(lease.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        assertThat(lease.lostDetail()).startsWith("last failure: ").endsWith("the JWT of web expired");
    }

    /** Else people look for a network that is fine. */
    @Test
    void lossWhileTheStoreRefusesSaysWhyItDoes() {
        Lease lease = held();
        server.answersKeepAlives = false;
        server.script = call -> ScriptedServer.rejected("STORE_UNAVAILABLE");
        server.link().breakOff();
        time.advanceMillis(9_000);
        assertThat(lease.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        assertThat(lease.lostDetail()).isEqualTo("scripted");
    }

    @Test
    void whatWasLostHereIsNotResumedButAbandoned() {
        Lease lease = held();
        Lease longer = leaseOf(client.acquireAsync("longer", TRY.ttl(Duration.ofMinutes(2))));
        time.passUnnoticedMillis(9_000);
        assertThat(lease.isValid()).isFalse();
        assertThat(lease.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        time.advanceMillis(100);
        // Else the server would renew the lost one with every keep-alive of the old stream.
        assertThat(server.links).hasSize(2);
        assertThat(server.link().calls(CallCase.RESUME))
                .singleElement()
                .satisfies(call -> assertThat(call.getResume().getLock()).isEqualTo("longer"));
        assertThat(longer.isValid()).isTrue();
    }

    @Test
    void aReplyAfterTheDeadlineDoesNotRevive() {
        Lease lease = held();
        lease.onLost(lost::add);
        server.answersKeepAlives = false;
        time.advanceMillis(3_000);
        time.passUnnoticedMillis(6_000);
        answerKeepAlive(1);
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
        assertThat(lease.isValid()).isFalse();
    }

    @Test
    void anAnswerExtendsFromTheSendingOfItsKeepAlive() {
        Lease lease = held();
        server.answersKeepAlives = false;
        time.advanceMillis(4_000);
        answerKeepAlive(1);
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971 - 1_000));
    }

    @Test
    void aKeepAliveSentBeforeTheGrantExtendsNothing() {
        held();
        server.answersKeepAlives = false;
        time.advanceMillis(3_000);
        Lease later = leaseOf(client.acquireAsync("later", TRY));
        time.advanceMillis(500);
        answerKeepAlive(1);
        assertThat(later.validFor()).isEqualTo(Duration.ofMillis(8_971 - 500));
    }

    @Test
    void theLostListOfAKeepAliveNamesTheLostAndOnlyThem() {
        Lease lease = held();
        Lease other = leaseOf(client.acquireAsync("other", TRY));
        lease.onLost(lost::add);
        server.answersKeepAlives = false;
        time.advanceMillis(3_000);
        server.link()
                .push(ServerFrame.newBuilder()
                        .setKeepAlive(KeepAliveReply.newBuilder()
                                .setKeepAliveId(1)
                                .setRenewedId(1)
                                .addLost(lostEvent(lease))));
        assertThat(lost).containsExactly(LostReason.FORCE_RELEASED);
        assertThat(other.validFor()).isEqualTo(Duration.ofMillis(8_971));
    }

    @Test
    void pushedLossIsNotifiedOnceAlsoToLaterListeners() {
        Lease lease = held();
        lease.onLost(lost::add);
        for (int i = 0; i < 2; i++) {
            server.link()
                    .push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(lease))));
        }
        assertThat(lost).containsExactly(LostReason.FORCE_RELEASED);
        lease.onLost(lost::add);
        assertThat(lost).hasSize(2);
        assertThat(lease.validFor()).isZero();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aWallClockSteppedForwardEndsTheLease() {
        Lease lease = held();
        lease.onLost(lost::add);
        time.stepWallMillis(60_000);
        assertThat(lease.isValid()).isFalse();
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
    }

    @Test
    void aSteppedWallClockIsNoticedWithoutAnybodyLooking() {
        Lease lease = held();
        lease.onLost(lost::add);
        server.answersKeepAlives = false;
        time.stepWallMillis(60_000);
        time.advanceMillis(3_000);
        assertThat(lost).containsExactly(LostReason.SERVER_UNREACHABLE);
    }

    @Test
    void aCallbackThatThrowsStopsNeitherTheOthersNorTheRenewal() {
        Lease lease = held();
        Lease other = leaseOf(client.acquireAsync("other", TRY));
        lease.onLost(reason -> {
            throw new IllegalStateException("the user's");
        });
        lease.onLost(lost::add);
        server.link().push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(lease))));
        assertThat(lost).hasSize(1);
        time.advance(Duration.ofMinutes(1));
        assertThat(other.isValid()).isTrue();
    }

    @Test
    void ensureRenewsOnceWhenLessIsLeft() throws InterruptedException {
        Lease lease = held();
        time.passUnnoticedMillis(5_000);
        lease.ensureValidFor(Duration.ofSeconds(3));
        assertThat(count(CallCase.RENEW)).isZero();
        lease.ensureValidFor(Duration.ofSeconds(8));
        assertThat(count(CallCase.RENEW)).isEqualTo(1);
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971));
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ofSeconds(10)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void ensureThrowsWhenTheServerSaysThatTheLeaseIsOver() {
        Lease lease = held();
        lease.onLost(lost::add);
        time.passUnnoticedMillis(5_000);
        server.script = call -> ScriptedServer.rejected("LEASE_EXPIRED");
        assertThatThrownBy(() -> lease.ensureValidFor(Duration.ofSeconds(8)))
                .isInstanceOfSatisfying(
                        LeaseLostException.class, e -> assertThat(e.reason()).isEqualTo(LostReason.EXPIRED));
        assertThat(lost).containsExactly(LostReason.EXPIRED);
    }

    @Test
    void aReleasedLeaseIsOverAndNeverLost() {
        Lease lease = held();
        lease.onLost(lost::add);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(lease.isValid()).isFalse();
        time.advanceMillis(20_000);
        assertThat(lost).isEmpty();
        assertThat(lease.lostReason()).isEmpty();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void aReleaseThatIsNeverAnsweredDropsTheStreamSoThatNothingRenewsTheGrant() {
        held();
        Lease lease = leaseOf(client.acquireAsync("other", TRY));
        server.script = ScriptedServer.silentOn(Call::hasRelease, server::grantAll);
        ((LeaseHandle) lease).lease().releaseInLoop();
        time.advanceMillis(8_999);
        assertThat(server.links).hasSize(1);
        time.advanceMillis(100);
        assertThat(server.links).hasSize(2);
    }

    @Test
    void forcedReleaseHasItsDetailAlsoAfterARefusedResume() {
        Lease pushed = held();
        server.link()
                .push(ServerFrame.newBuilder()
                        .addEvents(Event.newBuilder().setLost(lostEvent(pushed).setDetail("by ops: gone"))));
        assertThat(pushed.lostReason()).contains(LostReason.FORCE_RELEASED);
        assertThat(pushed.lostDetail()).isEqualTo("by ops: gone");

        Lease away = held();
        away.onLost(lost::add);
        assertThat(away.lostDetail()).isEmpty();
        server.script = call -> {
            Reply.Builder reply = ScriptedServer.rejected("LEASE_EXPIRED");
            reply.getRejectedBuilder().putMetadata("ended", "FORCE_RELEASED").putMetadata("detail", "by ops: moved");
            return reply;
        };
        server.link().breakOff();
        time.advanceMillis(2_000);
        assertThat(lost).containsExactly(LostReason.FORCE_RELEASED);
        assertThat(away.lostDetail()).isEqualTo("by ops: moved");
    }

    // ---- requests to release ----

    private final List<Lease.ReleaseRequest> asked = new ArrayList<>();

    private void requestRelease(Lease lease, String why) {
        server.link()
                .push(ServerFrame.newBuilder()
                        .addEvents(Event.newBuilder()
                                .setReleaseRequested(ReleaseRequestedEvent.newBuilder()
                                        .setLock(lease.lock().value())
                                        .setGrantId(ProtoMapper.bytes(lease.grant()))
                                        .setBy("ops")
                                        .setWhy(why))));
    }

    @Test
    void holderIsNotifiedOfEachReleaseRequestAndKeepsTheLease() {
        Lease lease = held();
        Lease other = leaseOf(client.acquireAsync("other", TRY));
        List<Lease.ReleaseRequest> others = new ArrayList<>();
        other.onReleaseRequested(others::add);
        lease.onReleaseRequested(asked::add);
        requestRelease(lease, "first");
        requestRelease(lease, "second");
        assertThat(asked)
                .containsExactly(new Lease.ReleaseRequest("ops", "first"), new Lease.ReleaseRequest("ops", "second"));
        assertThat(others).isEmpty();
        time.advance(Duration.ofMinutes(1));
        assertThat(lease.isValid()).isTrue();
    }

    @Test
    void lateListenerGetsOnlyTheLastReleaseRequestAtOnce() {
        Lease lease = held();
        requestRelease(lease, "first");
        requestRelease(lease, "second");
        lease.onReleaseRequested(asked::add);
        assertThat(asked).containsExactly(new Lease.ReleaseRequest("ops", "second"));
    }

    @Test
    void formerHolderGetsNoReleaseRequest() {
        Lease released = held();
        released.onReleaseRequested(asked::add);
        released.release();
        requestRelease(released, "late");
        released.onReleaseRequested(asked::add);
        Lease lost = held();
        requestRelease(lost, "in time");
        server.link().push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(lost))));
        lost.onReleaseRequested(asked::add);
        assertThat(asked).isEmpty();
    }

    private void answerKeepAlive(long id) {
        server.link()
                .push(ServerFrame.newBuilder()
                        .setKeepAlive(
                                KeepAliveReply.newBuilder().setKeepAliveId(id).setRenewedId(id)));
    }
}
