package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.WaitEnd;
import dev.palisade.proto.v1.WaitEndedEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class AcquireTest extends Fixture {
    @Test
    void aFreeLockIsGrantedWithWhatTheServerSaid() {
        Lease lease = held();
        assertThat(lease.lock().value()).isEqualTo(LOCK);
        assertThat(lease.token()).isEqualTo(new FencingToken(1));
        assertThat(lease.mode()).isEqualTo(Mode.EXCLUSIVE);
        assertThat(lease.sequencer().toBytes()).isEqualTo("signed 1".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        assertThat(lease.isValid()).isTrue();
        // 9 s, less a thousandth, less 20 ms
        assertThat(lease.validFor()).isEqualTo(Duration.ofMillis(8_971));
    }

    @Test
    void theOptionsReachTheServer() {
        var unused = acquire(AcquireOptions.waiting(Duration.ofSeconds(3))
                .shared()
                .ttl(Duration.ofSeconds(7))
                .lockDelay(Duration.ofSeconds(2))
                .purpose("why"));
        AcquireRequest request = last(CallCase.ACQUIRE).getAcquire();
        assertThat(request.getMode()).isEqualTo(dev.palisade.proto.v1.Mode.SHARED);
        assertThat(request.getWaitMillis()).isEqualTo(3_000);
        assertThat(request.getTtlMillis()).isEqualTo(7_000);
        assertThat(request.getLockDelayMillis()).isEqualTo(2_000);
        assertThat(request.getPurpose()).isEqualTo("why");
        assertThat(request.getAgeMillis()).isZero();
    }

    @Test
    void aBusyLockIsAnAnswer() throws InterruptedException {
        server.script = call -> Reply.newBuilder()
                .setAcquire(AcquireReply.newBuilder()
                        .setBusy(Busy.newBuilder()
                                .setRemainingMillis(700)
                                .setMinimumHoldRemainingMillis(300)
                                .setWaiters(2)));
        assertThat(client.tryAcquire(LOCK))
                .isEqualTo(new AcquireResult.Busy(Optional.empty(), Duration.ofMillis(700), Duration.ofMillis(300), 2));
        assertThatThrownBy(() -> client.acquire(LOCK, Duration.ZERO))
                .isInstanceOf(LockNotAcquiredException.class)
                .hasMessageContaining("orders/42")
                .hasMessageContaining("in its minimum hold time for 300 ms")
                .hasMessageContaining("2 waiting");
    }

    @Test
    void aMinimumHoldTimeReachesTheServer() {
        assertThat(leaseOf(acquire(TRY.lockAtLeastFor(Duration.ofMinutes(5)))).isValid())
                .isTrue();
        assertThat(last(CallCase.ACQUIRE).getAcquire().getLockAtLeastForMillis())
                .isEqualTo(300_000);
    }

    /** What it grants would be free for the next job as soon as this one ends. */
    @Test
    void aServerThatDoesNotKnowTheMinimumHoldTimeGrantsNothing() {
        server.script = call -> {
            Reply.Builder reply = server.grantAll(call);
            if (reply.hasAcquire()) {
                reply.getAcquireBuilder().getGrantedBuilder().clearLockAtLeastForMillis();
            }
            return reply;
        };
        AcquireResult result =
                acquire(TRY.lockAtLeastFor(Duration.ofMinutes(5))).join();
        assertThat(result)
                .isInstanceOfSatisfying(
                        AcquireResult.Unavailable.class,
                        none -> assertThat(none.rejection().message())
                                .contains("lockAtLeastFor 300000 ms, the server granted 0 ms")
                                .contains("check that client and server are of one release"));
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void theHolderOfABusyLockIsNotSaidToLeaveAtTheEndOfItsLease() {
        server.script = call -> Reply.newBuilder()
                .setAcquire(AcquireReply.newBuilder()
                        .setBusy(Busy.newBuilder()
                                .setHolder(Holder.newBuilder()
                                        .setOwner("worker")
                                        .setToken(34)
                                        .setMode(dev.palisade.proto.v1.Mode.EXCLUSIVE))
                                .setRemainingMillis(9_998)));
        assertThatThrownBy(() -> client.acquire(LOCK, Duration.ZERO))
                .hasMessage(
                        "lock orders/42 is held by worker (token 34) until it is released or not renewed for 9998 ms,"
                                + " 0 waiting; wait for it or try later");
    }

    @Test
    void aTryWithoutAnAnswerIsUnavailableAtTheCallTimeoutAndUndone() {
        server.script = ScriptedServer.silentOn(call -> call.hasAcquire(), server::grantAll);
        CompletableFuture<AcquireResult> result = acquire(TRY);
        time.advanceMillis(4_999);
        assertThat(result).isNotDone();
        time.advanceMillis(1);
        assertThat(result.join()).isInstanceOf(AcquireResult.Unavailable.class);
        long asked = server.links.get(0).last(CallCase.ACQUIRE).getAcquire().getRequestId();
        time.advanceMillis(100);
        assertThat(server.links.stream().flatMap(link -> link.calls(CallCase.LEAVE).stream()))
                .anyMatch(call -> call.getLeave().getRequestId() == asked);
    }

    @Test
    void waitEndsAtItsDeadlineWhateverTheServerDoes() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(AcquireOptions.waiting(Duration.ofSeconds(3)));
        time.advanceMillis(2_999);
        assertThat(result).isNotDone();
        time.advanceMillis(1);
        assertThat(result.join()).isEqualTo(new AcquireResult.TimedOut());
        assertThat(last(CallCase.LEAVE).getLeave().getRequestId())
                .isEqualTo(last(CallCase.ACQUIRE).getAcquire().getRequestId());
    }

    @Test
    void aQueuedWaitIsUnavailableIfTheServerFellSilent() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(AcquireOptions.waiting(Duration.ofSeconds(3)));
        time.advanceMillis(100);
        server.answersKeepAlives = false;
        time.advanceMillis(2_900);
        assertThat(unavailable(result))
                .isEqualTo("no reply from the lock server at scripted:1 for 2500 ms;"
                        + " check that it runs and can be reached");
    }

    @Test
    void aWaitWithoutAnyReplyIsUnavailable() {
        assertThat(leaseOf(acquire(TRY)).isValid()).isTrue(); // The server has replied before.
        server.script = ScriptedServer.silentOn(call -> call.hasAcquire(), server::grantAll);
        CompletableFuture<AcquireResult> alone =
                client.acquireAsync("a/x", AcquireOptions.waiting(Duration.ofMillis(300)));
        CompletableFuture<AcquireResult> behind =
                client.acquireAsync("a/x", AcquireOptions.waiting(Duration.ofMillis(300)));
        time.advanceMillis(300);
        assertThat(unavailable(alone)).contains("no answer from the lock server");
        assertThat(unavailable(behind)).contains("no answer from the lock server");
    }

    @Test
    void aWaitTimesOutIfTheServerFellSilentOnlyNow() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(AcquireOptions.waiting(Duration.ofMillis(2_900)));
        time.advanceMillis(2_400);
        server.answersKeepAlives = false;
        time.advanceMillis(500);
        assertThat(result.join()).isEqualTo(new AcquireResult.TimedOut());
    }

    /** A reply to a request that was sent 100 ms ago may still come. */
    @Test
    void waiterBehindAnotherTimesOutThoughItsRequestIsNew() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> first = acquire(AcquireOptions.waiting(Duration.ofMillis(2_900)));
        CompletableFuture<AcquireResult> behind = acquire(AcquireOptions.waiting(Duration.ofSeconds(3)));
        server.script = ScriptedServer.silentOn(call -> call.hasAcquire(), server::grantAll);
        time.advanceMillis(3_000);
        assertThat(first.join()).isEqualTo(new AcquireResult.TimedOut());
        assertThat(behind.join()).isEqualTo(new AcquireResult.TimedOut());
    }

    @Test
    void aWaitWhileTheStoreRecoversIsUnavailable() throws InterruptedException {
        server.script = call -> {
            Reply.Builder reply = server.queueAll(call);
            if (reply.hasAcquire()) {
                reply.getAcquireBuilder().getQueuedBuilder().setRecoveringMillis(7_000);
            }
            return reply;
        };
        CompletableFuture<AcquireResult> result = acquire(AcquireOptions.waiting(Duration.ofMillis(300)));
        time.advanceMillis(300);
        assertThat(result.join()).isInstanceOfSatisfying(AcquireResult.Unavailable.class, unavailable -> {
            assertThat(unavailable.rejection().reason()).isEqualTo(Reason.RECOVERING);
            assertThat(unavailable.rejection().message())
                    .isEqualTo(
                            "no lock is granted for another 6700 ms, because the store lost data;" + " try again then");
            assertThat(unavailable.rejection().metadata()).containsEntry("retry_after_millis", "6700");
        });
    }

    @Test
    void aWaitIsUnavailableIfTheStoreLosesDataMeanwhile() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(AcquireOptions.waiting(Duration.ofSeconds(3)));
        CompletableFuture<AcquireResult> ended = client.acquireAsync("b/x", WAIT_MINUTE);
        server.recoveringMillis = 7_000;
        time.advanceMillis(2_900);
        waitEnded(last(CallCase.ACQUIRE).getAcquire().getRequestId(), WaitEnd.WAIT_TIMED_OUT);
        time.advanceMillis(100);
        assertThat(unavailable(result)).contains("no lock is granted for another 6500 ms");
        assertThat(unavailable(ended)).contains("no lock is granted for another 6600 ms");
    }

    @Test
    void aWaitTimesOutAfterTheRecovery() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(AcquireOptions.waiting(Duration.ofSeconds(3)));
        server.recoveringMillis = 7_000;
        time.advanceMillis(2_000);
        server.recoveringMillis = 0;
        time.advanceMillis(1_000);
        assertThat(result.join()).isEqualTo(new AcquireResult.TimedOut());
    }

    private static String unavailable(CompletableFuture<AcquireResult> result) {
        AcquireResult ended = result.getNow(new AcquireResult.TimedOut());
        if (ended instanceof AcquireResult.Unavailable unavailable) {
            return unavailable.rejection().message();
        }
        throw new AssertionError("not unavailable: " + result + " " + ended);
    }

    @Test
    void aCancelledWaitLeavesTheQueue() {
        server.script = server::queueAll;
        acquire(WAIT_MINUTE).cancel(true);
        assertThat(last(CallCase.LEAVE).getLeave().getRequestId())
                .isEqualTo(last(CallCase.ACQUIRE).getAcquire().getRequestId());
    }

    @Test
    void aGrantThatRacedTheCancelIsReleased() {
        server.script = ScriptedServer.silentOn(call -> call.hasAcquire(), server::grantAll);
        acquire(TRY).cancel(true);
        Granted granted = server.grant(LOCK);
        server.link().answer(last(CallCase.ACQUIRE), ScriptedServer.granted(granted));
        assertThat(last(CallCase.RELEASE).getRelease().getGrantId()).isEqualTo(granted.getGrantId());
        assertThat(count(CallCase.LEAVE)).isEqualTo(1);
    }

    @Test
    void aGrantIsReleasedWhenTheFutureWasCompletedByItsOwnerMeanwhile() {
        List<Runnable> later = new ArrayList<>();
        try (PalisadeClient other = PalisadeClient.builder()
                .servers("scripted:1")
                .channelFactory(server::channel)
                .callbackExecutor(later::add)
                .build()) {
            CompletableFuture<AcquireResult> result = other.acquireAsync(LOCK, TRY);
            result.complete(new AcquireResult.TimedOut());
            assertThat(count(CallCase.RELEASE)).isZero();
            List.copyOf(later).forEach(Runnable::run);
            assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        }
    }

    @Test
    void waiterDroppedByMistakeRequestsAnew() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        long first = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        waitEnded(first, WaitEnd.WAIT_DROPPED);
        time.advanceMillis(1_000);
        assertThat(result).isNotDone();
        AcquireRequest again = last(CallCase.ACQUIRE).getAcquire();
        assertThat(again.getRequestId()).isNotEqualTo(first);
        assertThat(again.getAgeMillis()).isZero();
        assertThat(again.getWaitMillis()).isBetween(58_000L, 60_000L);
        offerFresh();
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void aWaitThatTheServerEndsIsTimedOut() {
        server.script = server::queueAll;
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE);
        waitEnded(last(CallCase.ACQUIRE).getAcquire().getRequestId(), WaitEnd.WAIT_TIMED_OUT);
        assertThat(result.join()).isEqualTo(new AcquireResult.TimedOut());
    }

    @Test
    void transientRejectionEndsATryAndNotAWait() {
        server.script = call -> ScriptedServer.rejected("RECOVERING");
        assertThat(acquire(TRY).join())
                .isInstanceOfSatisfying(
                        AcquireResult.Unavailable.class,
                        unavailable ->
                                assertThat(unavailable.rejection().reason()).isEqualTo(Reason.RECOVERING));
        CompletableFuture<AcquireResult> waiting = acquire(WAIT_MINUTE);
        time.advanceMillis(500);
        assertThat(waiting).isNotDone();
        server.script = server::grantAll;
        time.advanceMillis(1_000);
        assertThat(leaseOf(waiting).isValid()).isTrue();
    }

    @Test
    void unknownOutcomeIsSentAgainUnderTheSameIdAndConfirmed() {
        server.script = call -> ScriptedServer.rejected("OUTCOME_UNKNOWN");
        CompletableFuture<AcquireResult> result = acquire(TRY);
        long asked = last(CallCase.ACQUIRE).getAcquire().getRequestId();
        server.script = server::grantAll;
        time.advanceMillis(1_000);
        assertThat(last(CallCase.ACQUIRE).getAcquire().getRequestId()).isEqualTo(asked);
        assertThat(count(CallCase.RESUME)).isEqualTo(1);
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void aRequestThatCanNeverBeRightThrows() {
        server.script = call -> ScriptedServer.rejected("PERMISSION_DENIED");
        assertThatThrownBy(() -> client.tryAcquire(LOCK))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.PERMISSION_DENIED));
        assertThatThrownBy(() -> client.tryAcquire("")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void fullQueueIsReported() {
        server.script = call -> ScriptedServer.rejected("QUEUE_FULL");
        assertThatThrownBy(() -> client.acquire(LOCK, Duration.ofMinutes(1)))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("QUEUE_FULL");
    }

    @Test
    void describeReturnsHoldersAndWaiters() throws InterruptedException {
        assertThat(client.describe(LOCK).lock().value()).isEqualTo(LOCK);
    }

    private void waitEnded(long requestId, WaitEnd end) {
        server.link()
                .push(ServerFrame.newBuilder()
                        .addEvents(Event.newBuilder()
                                .setWaitEnded(WaitEndedEvent.newBuilder()
                                        .setRequestId(requestId)
                                        .setEnd(end))));
    }
}
