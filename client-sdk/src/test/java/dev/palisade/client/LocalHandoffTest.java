package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.ServerFrame;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Acquires of one client that are requested together hold one grant one after another, without the server. */
class LocalHandoffTest extends Fixture {
    /** Changes that make a grant with hand-off sequencers malformed. */
    private static final List<UnaryOperator<Granted.Builder>> MALFORMED = List.of(
            granted -> granted.addAllTurns(Collections.nCopies(FencingToken.PER_GRANT, ByteString.EMPTY)),
            granted -> granted.setGrantId(ProtoMapper.bytes(new GrantId(1, FencingToken.PER_GRANT + 1))),
            granted -> granted.setToken(FencingToken.MAX));

    @BeforeEach
    void queueAllAcquires() {
        server.script = server::queueAll;
    }

    @Test
    void laterAcquiresAreRequestedTogetherAfterTheFirstGrant() {
        CompletableFuture<AcquireResult> first = acquire(WAIT_MINUTE);
        var unused = List.of(acquire(WAIT_MINUTE), acquire(WAIT_MINUTE), acquire(WAIT_MINUTE));
        assertThat(requestedHandoffs()).containsExactly(1);

        offerFresh();
        assertThat(leaseOf(first).isValid()).isTrue();
        assertThat(requestedHandoffs()).containsExactly(1, 3);
    }

    @Test
    void eachHolderHasItsOwnTokenAndOnlyTheLastReleases() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(3);
        offerFresh();
        time.advanceMillis(2);
        List<Lease> leases = new ArrayList<>();
        for (CompletableFuture<AcquireResult> result : all) {
            assertThat(count(CallCase.RELEASE)).isZero();
            Lease lease = leaseOf(result);
            assertThat(all.stream().filter(CompletableFuture::isDone)).hasSize(leases.size() + 1);
            assertThat(lease.isValid()).isTrue();
            assertThat(signed(lease)).isEqualTo("signed " + lease.token());
            leases.add(lease);
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(lease.isValid()).isFalse();
        }
        long token = leases.get(0).token().value();
        assertThat(leases).extracting(lease -> lease.token().value()).containsExactly(token, token + 1, token + 2);
        assertThat(leases).extracting(Lease::grant).doesNotHaveDuplicates();
        assertThat(last(CallCase.RELEASE).getRelease().getToken()).isEqualTo(token);
        assertThat(last(CallCase.RELEASE).getRelease().getGrantId())
                .isEqualTo(ProtoMapper.bytes(leases.get(0).grant()));
        assertThat(count(CallCase.ACCEPT)).isEqualTo(1);
    }

    @Test
    void keepAliveRenewsThePresentHolder() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        leaseOf(all.get(0)).close();
        time.advanceMillis(60_000);
        assertThat(leaseOf(all.get(1)).isValid()).isTrue();
    }

    @Test
    void lossReachesThePresentHolderAndTheOthersRequestAnew() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(4);
        offerFresh();
        Lease first = leaseOf(all.get(0));
        first.close();
        List<LostReason> lost = new ArrayList<>();
        leaseOf(all.get(1)).onLost(lost::add);
        CompletableFuture<AcquireResult> later = acquire(WAIT_MINUTE);
        server.link().push(ServerFrame.newBuilder().addEvents(Event.newBuilder().setLost(lostEvent(first))));

        assertThat(lost).containsExactly(LostReason.FORCE_RELEASED);
        // The request of the later acquire was queued first, and stays first.
        offerFresh();
        leaseOf(later).close();
        offerFresh();
        assertThat(leaseOf(all.get(2)).isValid()).isTrue();
        assertThat(all.get(3)).isNotDone();
    }

    @Test
    void noHandoffWhileTheServerMayNotSeeTheLeaseAsHeld() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        server.script = ScriptedServer.silentOn(Call::hasResume, server::queueAll);
        server.link().breakOff();
        time.advanceMillis(100);
        Lease first = leaseOf(all.get(0));
        assertThat(first.isValid()).isTrue();
        first.close();
        assertThat(all.get(1)).isNotDone();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(last(CallCase.ACQUIRE).getAcquire().getTurns()).isEqualTo(1);
    }

    @Test
    void expiredLeaseIsNotHandedOff() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        Lease first = leaseOf(all.get(0));
        time.passUnnoticedMillis(10_000);
        first.close();
        assertThat(first.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
        assertThat(all.get(1)).isNotDone();
    }

    @Test
    void endedAcquireIsSkippedInAHandoff() {
        List<CompletableFuture<AcquireResult>> all =
                askedTogether(WAIT_MINUTE, AcquireOptions.waiting(Duration.ofSeconds(1)), WAIT_MINUTE, WAIT_MINUTE);
        offerFresh();
        all.get(2).cancel(false);
        time.advanceMillis(1_001);
        assertThat(all.get(1)).isCompletedWithValueMatching(AcquireResult.TimedOut.class::isInstance);
        leaseOf(all.get(0)).close();
        assertThat(leaseOf(all.get(3)).isValid()).isTrue();
        leaseOf(all.get(3)).close();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void requestLeavesTheQueueWithItsLastAcquire() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(3);
        int before = count(CallCase.LEAVE);
        all.get(0).cancel(false);
        all.get(1).cancel(false);
        assertThat(count(CallCase.LEAVE)).isEqualTo(before);
        offerFresh();
        assertThat(leaseOf(all.get(2)).isValid()).isTrue();

        List<CompletableFuture<AcquireResult>> others = askedTogether(2);
        before = count(CallCase.LEAVE);
        others.forEach(other -> other.cancel(false));
        assertThat(count(CallCase.LEAVE)).isEqualTo(before + 1);
    }

    @Test
    void requestWaitsAsLongAsItsMostPatientAcquire() {
        var unused = askedTogether(
                AcquireOptions.waiting(Duration.ofSeconds(1)), AcquireOptions.waiting(Duration.ofSeconds(30)));
        assertThat(last(CallCase.ACQUIRE).getAcquire().getWaitMillis()).isEqualTo(30_000);
    }

    @Test
    void acquireWithOtherOptionsHasItsOwnRequest() {
        var unused = List.of(
                acquire(WAIT_MINUTE),
                acquire(TRY),
                acquire(WAIT_MINUTE.shared()),
                acquire(WAIT_MINUTE.ttl(Duration.ofSeconds(3))),
                acquire(WAIT_MINUTE.lockDelay(Duration.ofSeconds(3))),
                acquire(WAIT_MINUTE.purpose("else")),
                acquire(WAIT_MINUTE.lockAtLeastFor(Duration.ofMinutes(5))),
                acquire(WAIT_MINUTE.lockAtLeastFor(Duration.ofMinutes(5))));
        assertThat(requestedHandoffs()).containsExactly(1, 1, 1, 1, 1, 1, 1, 1);
    }

    @Test
    void withoutHandoffSequencersTheOthersPrecedeLaterAcquires() {
        server.turnsMax = 1;
        List<CompletableFuture<AcquireResult>> all = askedTogether(3);
        CompletableFuture<AcquireResult> later = acquire(WAIT_MINUTE);
        offerFresh();
        leaseOf(all.get(0)).close();
        assertThat(requestedHandoffs()).endsWith(3);
        offerFresh();
        leaseOf(all.get(1)).close();
        offerFresh();
        leaseOf(all.get(2)).close();
        offerFresh();
        assertThat(leaseOf(later).isValid()).isTrue();
    }

    @Test
    void moreAcquiresThanTokensOfAGrantTakeTwoRequests() {
        var unused = askedTogether(33);
        offerFresh();
        assertThat(requestedHandoffs()).endsWith(32, 1);
    }

    @Test
    void closeEndsAllWaitingAcquires() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(3);
        offerFresh();
        List<CompletableFuture<AcquireResult>> later =
                List.of(acquire(WAIT_MINUTE), acquire(WAIT_MINUTE), acquire(WAIT_MINUTE));
        client.close();
        assertThat(all.subList(1, 3)).allSatisfy(LocalHandoffTest::isUnavailable);
        assertThat(later).allSatisfy(LocalHandoffTest::isUnavailable);
        assertThat(leaseOf(all.get(0)).lostReason()).contains(LostReason.CLIENT_CLOSED);
    }

    @Test
    void refusedConfirmationOfAHandoffIsALoss() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        server.script = ScriptedServer.silentOn(Call::hasRenew, server::queueAll);
        CompletableFuture<ReleaseOutcome> released = leaseOf(all.get(0)).releaseAsync();
        Lease second = leaseOf(all.get(1));
        assertThat(second.isValid()).isTrue();
        assertThat(released).isNotDone();

        server.link().answer(last(CallCase.RENEW), ScriptedServer.rejected("LEASE_EXPIRED"));
        assertThat(released).isCompletedWithValue(ReleaseOutcome.ALREADY_LOST);
        assertThat(second.lostReason()).contains(LostReason.EXPIRED);
    }

    @Test
    void handoffWithoutConfirmationByTheDeadlineIsUnknown() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        server.answersKeepAlives = false;
        server.script = ScriptedServer.silentOn(call -> call.hasRenew() || call.hasResume(), server::queueAll);
        CompletableFuture<ReleaseOutcome> released = leaseOf(all.get(0)).releaseAsync();
        time.advanceMillis(8_900);
        assertThat(released).isNotDone();
        time.advanceMillis(100);
        assertThat(released).isCompletedWithValue(ReleaseOutcome.UNKNOWN);
        assertThat(leaseOf(all.get(1)).lostReason()).contains(LostReason.SERVER_UNREACHABLE);
    }

    /** A server whose store has lost the lease knows it again from the resume on, and not before. */
    @Test
    void resumeConfirmsAHandoffOfTheBrokenStream() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        server.script = ScriptedServer.silentOn(Call::hasRenew, server::queueAll);
        CompletableFuture<ReleaseOutcome> released = leaseOf(all.get(0)).releaseAsync();
        server.script = call -> call.hasRenew() ? ScriptedServer.rejected("NOT_HOLDER") : server.queueAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(released).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(leaseOf(all.get(1)).isValid()).isTrue();
    }

    /** On a new stream the renewal is sent again before the release, which has ended the lease. */
    @Test
    void releaseConfirmsHandoffsWhoseRenewalIsTooLate() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        server.script = ScriptedServer.silentOn(call -> call.hasRenew() || call.hasRelease(), server::queueAll);
        CompletableFuture<ReleaseOutcome> first = leaseOf(all.get(0)).releaseAsync();
        CompletableFuture<ReleaseOutcome> second = leaseOf(all.get(1)).releaseAsync();
        server.script = call -> call.hasRenew() ? ScriptedServer.rejected("LEASE_EXPIRED") : server.queueAll(call);
        server.link().breakOff();
        time.advanceMillis(100);
        assertThat(second).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(first).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    @Test
    void acceptIsSentBeforeTheRenewalThatConfirmsAHandoff() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        assertThat(leaseOf(all.get(0)).release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(leaseOf(all.get(1)).isValid()).isTrue();
        assertThat(server.link().frames.stream().flatMap(frame -> frame.getCallsList().stream()))
                .extracting(Call::getCallCase)
                .endsWith(CallCase.ACCEPT, CallCase.RENEW);
    }

    @Test
    void leaseCloseToItsDeadlineIsNotHandedOff() {
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        time.advanceMillis(2);
        Lease first = leaseOf(all.get(0));
        time.passUnnoticedMillis(8_750);
        assertThat(first.validFor()).isBetween(Duration.ofMillis(200), Duration.ofMillis(249));
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(all.get(1)).isNotDone();
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    /** As in production: submitted tasks wait for the loop, and tryRun does not. */
    @Test
    void expiredLeaseIsNotHandedOffBeforeTheLoopSeesIt() {
        Deque<Runnable> tasks = new ArrayDeque<>();
        try (PalisadeClient queueing = PalisadeClient.builder()
                .servers("scripted:1")
                .owner("queueing")
                .channelFactory(server::channel)
                .time(time.clocks(), time)
                .callbackExecutor(Runnable::run)
                .execution(
                        tasks::add,
                        (future, limit) -> {
                            drain(tasks);
                            return true;
                        },
                        () -> 0)
                .build()) {
            CompletableFuture<AcquireResult> first = queueing.acquireAsync(LOCK, WAIT_MINUTE);
            CompletableFuture<AcquireResult> second = queueing.acquireAsync(LOCK, WAIT_MINUTE);
            drain(tasks);
            assertThat(requestedHandoffs()).containsExactly(2);
            offerFresh();
            drain(tasks);
            time.advanceMillis(2);
            drain(tasks);
            Lease lease = leaseOf(first);
            time.passUnnoticedMillis(10_000);
            assertThat(lease.isValid()).isFalse();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
            assertThat(lease.lostReason()).contains(LostReason.SERVER_UNREACHABLE);
            time.advanceMillis(100);
            drain(tasks);
            assertThat(second).isNotDone();
            assertThat(requestedHandoffs()).containsExactly(1); // On a new stream.
        }
    }

    @Test
    void offerWithMalformedSequencersIsDeclined() {
        for (UnaryOperator<Granted.Builder> malformed : MALFORMED) {
            List<CompletableFuture<AcquireResult>> all = askedTogether(2);
            AcquireRequest asked = last(CallCase.ACQUIRE).getAcquire();
            Granted granted = malformed.apply(server.grant(asked).toBuilder()).build();
            server.link()
                    .offer(asked.getRequestId(), granted, 2_000, server.link().newestSentNanos());
            assertThat(all).allSatisfy(LocalHandoffTest::isUnavailable);
            assertThat(last(CallCase.LEAVE).getLeave().getRequestId()).isEqualTo(asked.getRequestId());
        }
    }

    @Test
    void grantWithMalformedSequencersIsReleased() {
        for (UnaryOperator<Granted.Builder> malformed : MALFORMED) {
            List<Granted> granted = new ArrayList<>();
            server.script = call -> {
                if (!call.hasAcquire() || call.getAcquire().getTurns() == 1) {
                    return server.queueAll(call);
                }
                granted.add(malformed
                        .apply(server.grant(call.getAcquire()).toBuilder())
                        .build());
                return ScriptedServer.granted(granted.get(0));
            };
            assertThat(askedTogether(2)).allSatisfy(LocalHandoffTest::isUnavailable);
            assertThat(granted).hasSize(1);
            assertThat(last(CallCase.RELEASE).getRelease().getGrantId())
                    .isEqualTo(granted.get(0).getGrantId());
        }
    }

    @Test
    void refusedSessionFailsAllAcquiresAlsoUnsentOnes() {
        server.welcoming = false;
        server.link().breakOff();
        time.advanceMillis(1_000);
        List<CompletableFuture<AcquireResult>> all = new ArrayList<>();
        for (int i = 0; i < 2 * FencingToken.PER_GRANT + 1; i++) {
            all.add(acquire(WAIT_MINUTE));
        }
        server.link().fail(Rejections.toStatus(new Rejection(Reason.PERMISSION_DENIED, "scripted")));
        assertThat(all).allSatisfy(each -> assertThat(each).isCompletedExceptionally());
    }

    @Test
    void handoffIsConfirmedOnlyByARenewalThatIsSentAfterIt() {
        server.script = ScriptedServer.silentOn(Call::hasRenew, server::queueAll);
        List<CompletableFuture<AcquireResult>> all = askedTogether(3);
        offerFresh();
        time.advanceMillis(2);
        CompletableFuture<ReleaseOutcome> first = leaseOf(all.get(0)).releaseAsync();
        CompletableFuture<ReleaseOutcome> second = leaseOf(all.get(1)).releaseAsync();
        server.link().answer(last(CallCase.RENEW), server.grantAll(last(CallCase.RENEW)));
        assertThat(first).isCompletedWithValue(ReleaseOutcome.RELEASED);
        assertThat(second).isNotDone();
        server.link().answer(last(CallCase.RENEW), server.grantAll(last(CallCase.RENEW)));
        assertThat(second).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    /** The store is out of reach for the accept, and back for the renewal after it. */
    @Test
    void renewalThatOvertookTheAcceptIsSentAgain() {
        server.script = call -> call.hasAccept()
                ? ScriptedServer.rejected("STORE_UNAVAILABLE")
                : call.hasRenew() ? ScriptedServer.rejected("NOT_HOLDER") : server.queueAll(call);
        List<CompletableFuture<AcquireResult>> all = askedTogether(2);
        offerFresh();
        CompletableFuture<ReleaseOutcome> first = leaseOf(all.get(0)).releaseAsync();
        assertThat(leaseOf(all.get(1)).isValid()).isTrue();
        server.script = server::queueAll;
        time.advanceMillis(1_000);
        assertThat(leaseOf(all.get(1)).isValid()).isTrue();
        assertThat(first).isCompletedWithValue(ReleaseOutcome.RELEASED);
    }

    /** Acquires of one request. An earlier acquire holds them back in the local queue until it is cancelled. */
    private List<CompletableFuture<AcquireResult>> askedTogether(int count) {
        AcquireOptions[] options = new AcquireOptions[count];
        Arrays.fill(options, WAIT_MINUTE);
        return askedTogether(options);
    }

    private List<CompletableFuture<AcquireResult>> askedTogether(AcquireOptions... options) {
        CompletableFuture<AcquireResult> before = acquire(WAIT_MINUTE);
        List<CompletableFuture<AcquireResult>> all = new ArrayList<>();
        for (AcquireOptions each : options) {
            all.add(acquire(each));
        }
        before.cancel(false);
        return all;
    }

    private static void drain(Deque<Runnable> tasks) {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    private List<Integer> requestedHandoffs() {
        return server.link().calls(CallCase.ACQUIRE).stream()
                .map(call -> call.getAcquire().getTurns())
                .toList();
    }

    private static String signed(Lease lease) {
        return new String(lease.sequencer().toBytes(), StandardCharsets.UTF_8);
    }

    private static void isUnavailable(CompletableFuture<AcquireResult> result) {
        assertThat(result).isCompletedWithValueMatching(AcquireResult.Unavailable.class::isInstance);
    }
}
