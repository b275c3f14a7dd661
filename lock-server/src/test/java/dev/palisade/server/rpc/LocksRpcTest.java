package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.get;
import static dev.palisade.server.rpc.Served.reason;
import static dev.palisade.server.rpc.Served.rejection;
import static dev.palisade.server.rpc.Served.session;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.KeepAlive;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.LostReason;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeManyRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.server.core.Answer;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.LockQuota;
import dev.palisade.server.engine.SessionPage;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocksRpcTest {
    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() throws Exception {
        served.close();
    }

    private DescribeReply describe(String lock) {
        return served.unary()
                .describe(DescribeRequest.newBuilder().setLock(lock).build());
    }

    private AcquireReply unaryAcquire(AcquireRequest.Builder request, long session) {
        return served.unary().acquire(request.setSessionId(session(session)).build());
    }

    private void unaryRelease(Granted granted, long session) {
        served.unary()
                .release(ReleaseRequest.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken())
                        .setSessionId(session(session))
                        .build());
    }

    private void queued(String lock, int waiters) {
        await().untilAsserted(() -> assertThat(describe(lock).getWaitersTotal()).isEqualTo(waiters));
    }

    // ---- unary ----

    private void look() {
        served.looks.remove().run();
    }

    private Served.Stream silent() {
        int before = served.rpc.streamsOfNobody();
        Served.Stream silent = served.new Stream();
        await().until(() -> served.rpc.streamsOfNobody() > before);
        return silent;
    }

    @Test
    void aStreamThatDoesNotSayWhoItIsIsEndedAndOneThatDidIsNot() {
        Served.Stream silent = silent();
        Served.Stream known = served.stream(1, 1);
        known.granted(acquire("a", 1, 0));
        look();
        Served.Stream later = silent();
        assertThat(silent.ended).as("it had no time yet").isNotDone();
        look();

        assertThat(reason(silent.failure())).isEqualTo(Reason.MALFORMED_REQUEST);
        known.granted(acquire("b", 2, 0));
        assertThat(later.ended).isNotDone();
        look();
        later.failure();
        assertThat(served.looks).as("nobody's are gone").isEmpty();
    }

    /** Streams without a hello cost nothing to open: they must not keep out who has a session, or wants one. */
    @Test
    void ofTooManyStreamsWithoutAHelloTheOldestMakesRoomForWhoSaysHello() {
        Served.Stream first = silent();
        for (int i = 2; i <= 50; i++) {
            silent();
        }
        served.stream(1, 1).granted(acquire("a", 1, 0));
        assertThat(Served.rejection(first.failure()).metadata()).containsEntry("limit", "streamsMax");
        silent();
        Served.Stream back = served.stream(1, 2);
        back.granted(acquire("b", 2, 0));
        assertThat(served.rpc.streamsOfNobody()).isLessThanOrEqualTo(50);
        assertThat(served.engine.sessions("", 100).sessions())
                .as("who was refused is nobody")
                .hasSize(1);
    }

    /** It has left its session: nothing else would ever count it or end it. */
    @Test
    void aStreamThatSaysNoMoreAndDoesNotReadIsEnded() {
        Served.Stream deaf = served.new Stream(1, 1, false);
        deaf.out.onCompleted();
        await().until(() -> served.rpc.streamsOfNobody() == 1
                && served.engine.sessions("", 100).sessions().isEmpty());
        look();
        look();
        assertThat(served.rpc.streamsOfNobody()).isZero();
        deaf.out.request(10);
        assertThat(reason(deaf.failure())).isEqualTo(Reason.STORE_UNAVAILABLE);
    }

    @Test
    void aStopEndsAStreamThatSaysNoMoreAndDoesNotRead() {
        Served.Stream deaf = served.new Stream(1, 1, false);
        deaf.out.onCompleted();
        await().until(() -> served.rpc.streamsOfNobody() == 1
                && served.engine.sessions("", 100).sessions().isEmpty());
        served.rpc.stop();
        deaf.out.request(10);
        assertThat(reason(deaf.failure())).isEqualTo(Reason.STORE_UNAVAILABLE);
    }

    /** What the process does when it is asked to stop. */
    @Test
    void aStopEndsStreamsAndWaitsAndFreesNothing() {
        Served.Stream holder = served.stream(1, 1);
        Granted held = holder.granted(acquire("a", 1, 0));
        Served.Stream waiter = served.stream(2, 1);
        waiter.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));
        Served.Stream silent = silent();
        var waiting = LocksGrpc.newFutureStub(served.channel)
                .acquire(acquire("a", 1, 60_000).setSessionId(session(3)).build());
        await().until(() -> served.unary()
                        .describe(DescribeRequest.newBuilder().setLock("a").build())
                        .getWaitersTotal()
                == 2);

        served.engine.enterDrain();
        served.rpc.stop();

        assertThat(reason(holder.failure())).isEqualTo(Reason.STORE_UNAVAILABLE);
        assertThat(reason(waiter.failure())).isEqualTo(Reason.STORE_UNAVAILABLE);
        assertThat(reason(silent.failure())).isEqualTo(Reason.STORE_UNAVAILABLE);
        assertThat(reason(served.stream(4, 1).failure())).as("came late").isEqualTo(Reason.STORE_UNAVAILABLE);
        assertThat(waiting)
                .failsWithin(10, TimeUnit.SECONDS)
                .withThrowableOfType(java.util.concurrent.ExecutionException.class)
                .satisfies(failure -> assertThat(reason(java.util.Objects.requireNonNull(failure.getCause())))
                        .isEqualTo(Reason.OUTCOME_UNKNOWN));
        // Well past the grace.
        await().during(2 * Served.GRACE_MILLIS, TimeUnit.MILLISECONDS).untilAsserted(() -> {
            var lock = served.unary()
                    .describe(DescribeRequest.newBuilder().setLock("a").build());
            assertThat(lock.getHolders(0).getToken()).isEqualTo(held.getToken());
            assertThat(lock.getWaitersTotal()).isEqualTo(2);
        });
    }

    @Test
    void waitingAcquireIsGrantedWhenTheHolderReleases() {
        Granted first = unaryAcquire(acquire("a", 1, 0), 1).getGranted();
        CompletableFuture<AcquireReply> second =
                CompletableFuture.supplyAsync(() -> unaryAcquire(acquire("a", 1, 60_000), 2));
        queued("a", 1);
        unaryRelease(first, 1);
        assertThat(get(second).getGranted().getToken()).isGreaterThan(first.getToken());
    }

    @Test
    void waitingAcquireTimesOutAndATryIsBusyAtOnce() {
        unaryAcquire(acquire("a", 1, 0), 1);
        AcquireReply busy = unaryAcquire(acquire("a", 1, 0), 2);
        assertThat(busy.hasBusy()).isTrue();
        assertThat(busy.getBusy().getRemainingMillis()).isBetween(1L, 10_000L);
        assertThat(unaryAcquire(acquire("a", 2, 200), 2).hasTimedOut()).isTrue();
        assertThat(describe("a").getWaitersTotal()).isZero();
    }

    @Test
    void aTryIsNeverToldAsTimedOut() {
        unaryAcquire(acquire("a", 1, 0), 1);
        for (int i = 0; i < 150; i++) {
            assertThat(unaryAcquire(acquire("a", i + 1, 0), 2).hasBusy()).isTrue();
        }
    }

    @Test
    void aCallerThatHangsUpOrRunsOutOfTimeLeavesTheQueue() {
        unaryAcquire(acquire("a", 1, 0), 1);
        Context.CancellableContext hangUp = Context.current().withCancellation();
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        hangUp.run(() -> LocksGrpc.newStub(served.channel)
                .acquire(acquire("a", 1, 60_000).setSessionId(session(2)).build(), failing(failure)));
        queued("a", 1);
        hangUp.cancel(null);
        queued("a", 0);
        assertThatThrownBy(() -> LocksGrpc.newBlockingStub(served.channel)
                        .withDeadlineAfter(200, TimeUnit.MILLISECONDS)
                        .acquire(
                                acquire("a", 2, 60_000).setSessionId(session(2)).build()))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        status -> assertThat(status.getStatus().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED));
        queued("a", 0);
    }

    private static io.grpc.stub.StreamObserver<AcquireReply> failing(CompletableFuture<Throwable> failure) {
        return new io.grpc.stub.StreamObserver<>() {
            @Override
            public void onNext(AcquireReply reply) {}

            @Override
            public void onError(Throwable cause) {
                failure.complete(cause);
            }

            @Override
            public void onCompleted() {}
        };
    }

    @Test
    void theEndOfAnOldCallDoesNotTakeBackWhatItsRetryWaitsForOrGot() {
        Granted held = unaryAcquire(acquire("a", 1, 0), 1).getGranted();
        Context.CancellableContext old = Context.current().withCancellation();
        CompletableFuture<Throwable> superseded = new CompletableFuture<>();
        old.run(() -> LocksGrpc.newStub(served.channel)
                .acquire(acquire("a", 1, 60_000).setSessionId(session(2)).build(), failing(superseded)));
        queued("a", 1);
        CompletableFuture<AcquireReply> retry =
                CompletableFuture.supplyAsync(() -> unaryAcquire(acquire("a", 1, 60_000), 2));
        assertThat(reason(get(superseded))).isEqualTo(Reason.OUTCOME_UNKNOWN);
        old.cancel(null);
        assertThat(describe("a").getWaitersTotal()).isEqualTo(1);
        unaryRelease(held, 1);
        assertThat(get(retry).hasGranted()).isTrue();
        assertThat(describe("a").getHoldersCount()).isEqualTo(1);
    }

    /** The old call's connection may be found dead long after the retry came in on another. */
    @Test
    void theLateEndOfAnOldCallTakesNothingBack() {
        LockEngine.AcquireParams asked = new LockEngine.AcquireParams(
                new LockName("a"),
                new RequestId(new SessionId(1, 2), 3),
                dev.palisade.contract.Mode.EXCLUSIVE,
                10_000,
                0,
                0,
                0,
                0,
                "",
                "",
                1);
        CompletableFuture<Answer> old = served.engine.acquireUnary(asked, LockQuota.NONE, Optional::empty);
        assertThat(get(old)).isInstanceOf(Answer.Granted.class);
        CompletableFuture<Answer> retry = served.engine.acquireUnary(asked, LockQuota.NONE, Optional::empty);
        assertThat(get(retry)).isInstanceOf(Answer.Granted.class);
        served.engine.callBroke(asked, old);
        assertThat(describe("a").getHoldersCount()).isEqualTo(1);
        served.engine.callBroke(asked, retry);
        assertThat(describe("a").getHoldersCount()).isZero();
    }

    @Test
    void anAnswerThatCannotBeSignedIsStillAnAnswer() {
        served.signer = sequencer -> {
            throw new IllegalStateException("no key");
        };
        assertThat(reason(catchThrowable(() -> unaryAcquire(acquire("a", 1, 0), 1))))
                .isEqualTo(Reason.OUTCOME_UNKNOWN);
        Served.Stream stream = served.stream(2, 1);
        Reply reply = stream.ask(Call.newBuilder().setAcquire(acquire("b", 1, 0)));
        assertThat(reply.getRejected().getReason()).isEqualTo("OUTCOME_UNKNOWN");
        served.signer = null;
        assertThat(unaryAcquire(acquire("c", 1, 0), 1).hasGranted()).isTrue();
        assertThat(stream.granted(acquire("d", 2, 0)).getToken()).isPositive();
    }

    // ---- streams ----

    /** A client that takes an offer for news would decline it, and with it the lease it has. */
    @Test
    void noOfferFollowsTheGrantThatItBecame() {
        Served.Stream client = served.stream(1, 1);
        Granted held = client.granted(acquire("a", 1, 0));
        Call.Builder waiting = Call.newBuilder().setAcquire(acquire("a", 2, 60_000));
        assertThat(client.ask(waiting).getAcquire().hasQueued()).isTrue();
        CompletableFuture<Reply> again = new CompletableFuture<>();
        client.replies.put(101L, again);
        client.send(ClientFrame.newBuilder()
                .addCalls(Call.newBuilder()
                        .setCallId(100)
                        .setRelease(ReleaseRequest.newBuilder()
                                .setLock("a")
                                .setGrantId(held.getGrantId())
                                .setToken(held.getToken())))
                .addCalls(waiting.setCallId(101)));
        assertThat(get(again).getAcquire().hasGranted()).isTrue();
        client.keepAlive(1);
        int granted = client.heard.indexOf(get(again));
        assertThat(client.heard.subList(granted, client.heard.size()))
                .as("behind the grant")
                .noneMatch(heard -> heard instanceof Event event && event.hasOffered());
    }

    @Test
    void aWaiterIsOfferedTheLockAndAccepts() {
        Served.Stream holder = served.stream(1, 1);
        Served.Stream waiter = served.stream(2, 1);
        Granted first = holder.granted(acquire("a", 1, 0));
        Reply queued = waiter.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));
        assertThat(queued.getAcquire().getQueued().getPosition()).isEqualTo(1);
        holder.release(first);
        await().until(() -> !waiter.events.isEmpty());
        Granted offered = waiter.events.get(0).getOffered().getGranted();
        Reply accepted = waiter.ask(Call.newBuilder()
                .setAccept(AcceptRequest.newBuilder()
                        .setLock("a")
                        .setGrantId(offered.getGrantId())
                        .setToken(offered.getToken())));
        assertThat(accepted.getAccept().getGranted().getToken())
                .isEqualTo(offered.getToken())
                .isGreaterThan(first.getToken());
        assertThat(accepted.getAccept().getGranted().getSequencer()).isNotEmpty();
    }

    @Test
    void noEventOvertakesTheReplyToItsOwnAcquire() {
        Served.Stream holder = served.stream(1, 1);
        Served.Stream waiter = served.stream(2, 1);
        for (int i = 1; i <= 120; i++) {
            Granted first = holder.granted(acquire("a" + i, i, 0));
            CompletableFuture<Reply> queued = waiter.call(Call.newBuilder().setAcquire(acquire("a" + i, i, 60_000)));
            holder.release(first);
            get(queued);
        }
        await().until(() -> waiter.events.size() + granted(waiter) >= 120);
        for (Event event : waiter.events) {
            if (!event.hasOffered()) {
                continue; // On a slow machine a lease expires meanwhile.
            }
            long request = event.getOffered().getRequestId();
            int reply = IntStream.range(0, waiter.heard.size())
                    .filter(i -> waiter.heard.get(i) instanceof Reply said && said.getCallId() == request)
                    .findFirst()
                    .orElse(Integer.MAX_VALUE);
            assertThat(waiter.heard.indexOf(event)).isGreaterThan(reply);
        }
    }

    private static long granted(Served.Stream stream) {
        return stream.heard.stream()
                .filter(said ->
                        said instanceof Reply reply && reply.getAcquire().hasGranted())
                .count();
    }

    @Test
    void aBrokenStreamsLocksAreFreedAfterTheGraceAndItsWaitersLeave() {
        Served.Stream dead = served.stream(1, 1);
        Served.Stream other = served.stream(2, 1);
        dead.granted(acquire("held", 1, 0));
        other.granted(acquire("wanted", 1, 0));
        dead.ask(Call.newBuilder().setAcquire(acquire("wanted", 2, 60_000)));
        dead.breakOff();
        await().untilAsserted(
                        () -> assertThat(describe("held").getHoldersCount()).isZero());
        queued("wanted", 0);
    }

    @Test
    void resumingBeforeTheGraceEndsKeepsTheGrantAndAfterItIsRefused() {
        Served.Stream first = served.stream(1, 1);
        Granted kept = first.granted(acquire("kept", 1, 0));
        Granted gone = first.granted(acquire("gone", 2, 0));
        first.breakOff();
        Served.Stream second = served.stream(1, 2);
        assertThat(second.resume(kept).getResume().getTtlMillis()).isEqualTo(10_000);
        await().untilAsserted(
                        () -> assertThat(describe("gone").getHoldersCount()).isZero());
        assertThat(describe("kept").getHoldersCount()).isEqualTo(1);
        assertThat(second.resume(gone).getRejected().getReason()).isEqualTo("LEASE_EXPIRED");
        assertThat(second.keepAlive(1).getLostList()).isEmpty();
        assertThat(second.release(kept).hasRelease()).isTrue();
    }

    @Test
    void grantsAreResumedTogetherAndOthersAreNamed() {
        Served.Stream first = served.stream(1, 1);
        Granted kept = first.granted(acquire("kept", 1, 0));
        Granted alsoKept = first.granted(acquire("also kept", 2, 0));
        Granted released = first.granted(acquire("released", 3, 0));
        Granted otherToken = first.granted(acquire("other token", 4, 0));
        Granted another = served.stream(2, 1).granted(acquire("another's", 1, 0));
        first.release(released);
        first.breakOff();
        Served.Stream second = served.stream(1, 2);
        assertThat(second.resumeMany(
                        kept,
                        released,
                        alsoKept,
                        otherToken.toBuilder()
                                .setToken(otherToken.getToken() + 1)
                                .build(),
                        another))
                .containsExactlyInAnyOrder(released.getGrantId(), otherToken.getGrantId(), another.getGrantId());
        assertThat(second.resumeMany()).isEmpty();
        assertThat(served.engine.sessions("", 10).sessions())
                .filteredOn(listed -> listed.gen() == 2)
                .as("keep-alives renew both")
                .extracting(SessionPage.Listed::leases)
                .containsExactly(2);
        await().untilAsserted(() ->
                assertThat(describe("other token").getHoldersCount()).isZero());
        assertThat(describe("kept").getHoldersCount()).isEqualTo(1);
        assertThat(describe("also kept").getHoldersCount()).isEqualTo(1);
        assertThat(describe("another's").getHoldersCount()).isEqualTo(1);
        assertThat(second.keepAlive(1).getLostList()).isEmpty();
        assertThat(second.release(kept).hasRelease()).isTrue();
    }

    @Test
    void theFirstKeepAliveMayBeNumberZero() {
        Served.Stream stream = served.stream(1, 1);
        stream.granted(acquire("a", 1, 0));
        long before = describe("a").getHolders(0).getRemainingMillis();
        await().until(() -> describe("a").getHolders(0).getRemainingMillis() < before);
        long later = describe("a").getHolders(0).getRemainingMillis();
        stream.keepAlive(0);
        assertThat(describe("a").getHolders(0).getRemainingMillis()).isGreaterThan(later);
        assertThat(stream.keepAlive(-1).getRenewedId()).as("the largest number").isEqualTo(-1);
    }

    @Test
    void aKeepAliveThatRenewsNothingIsAnsweredAndRenewsNothing() {
        Served.Stream stream = served.stream(1, 1);
        assertThat(stream.frames.isEmpty() || stream.frames.get(0).getWelcome().getKnowsRenewsNothing())
                .isTrue();
        stream.granted(acquire("a", 1, 0));
        long before = describe("a").getHolders(0).getRemainingMillis();
        await().until(() -> describe("a").getHolders(0).getRemainingMillis() < before);
        long later = describe("a").getHolders(0).getRemainingMillis();
        KeepAliveReply sign =
                stream.keepAlive(KeepAlive.newBuilder().setKeepAliveId(1).setRenewsNothing(true));
        assertThat(sign.getRenewedId()).isZero();
        assertThat(describe("a").getHolders(0).getRemainingMillis()).isLessThanOrEqualTo(later);
        assertThat(stream.keepAlive(2).getRenewedId()).isEqualTo(2);
    }

    @Test
    void aRenewalIsConfirmedInOneFrameWithALaterSign() {
        Served.Stream stream = served.new Stream(1, 1, false);
        stream.send(ClientFrame.newBuilder().setKeepAlive(KeepAlive.newBuilder().setKeepAliveId(1)));
        stream.send(ClientFrame.newBuilder()
                .setKeepAlive(KeepAlive.newBuilder().setKeepAliveId(2).setRenewsNothing(true)));
        stream.send(ClientFrame.newBuilder()
                .setKeepAlive(KeepAlive.newBuilder().setKeepAliveId(3).setRenewsNothing(true)));
        await().untilAsserted(() -> {
            stream.out.request(1);
            assertThat(stream.frames)
                    .anySatisfy(frame ->
                            assertThat(frame.getKeepAlive().getKeepAliveId()).isEqualTo(3));
        });
        assertThat(stream.frames)
                .filteredOn(ServerFrame::hasKeepAlive)
                .extracting(frame -> frame.getKeepAlive().getRenewedId())
                .containsExactly(1L);
    }

    @Test
    void whatANewerStreamAcceptedIsNotFreedForTheOldStream() {
        Served.Stream holder = served.stream(1, 1);
        Granted held = holder.granted(acquire("a", 1, 0));
        Served.Stream first = served.stream(2, 1);
        first.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000)));
        first.breakOff();
        Served.Stream second = served.stream(2, 2);
        await().until(() -> !second.frames.isEmpty());
        holder.release(held);
        await().until(() -> !second.events.isEmpty());
        Granted offered = second.events.get(0).getOffered().getGranted();
        Reply accepted = second.ask(Call.newBuilder()
                .setAccept(AcceptRequest.newBuilder()
                        .setLock("a")
                        .setGrantId(offered.getGrantId())
                        .setToken(offered.getToken())));
        assertThat(accepted.getAccept().hasGranted()).isTrue();
        // Past the grace of the first stream.
        Served.Stream marker = served.stream(8, 1);
        marker.granted(acquire("mark", 1, 0));
        marker.breakOff();
        await().untilAsserted(
                        () -> assertThat(describe("mark").getHoldersCount()).isZero());
        assertThat(second.keepAlive(1).getLostList()).isEmpty();
        assertThat(describe("a").getHoldersCount()).isEqualTo(1);
    }

    @Test
    void aNewerStreamSupersedesAnOlderOneAndAnOlderOneIsRefused() {
        Served.Stream first = served.stream(1, 5);
        Granted held = first.granted(acquire("a", 1, 0));
        Served.Stream second = served.stream(1, 6);
        assertThat(second.resume(held).hasResume()).isTrue();
        assertThat(reason(first.failure())).isEqualTo(Reason.SESSION_UNKNOWN);
        assertThat(reason(served.stream(1, 6).failure())).isEqualTo(Reason.SESSION_UNKNOWN);
        assertThat(reason(served.stream(1, 5).failure())).isEqualTo(Reason.SESSION_UNKNOWN);
        // Past the grace of the first: what the second took over stays.
        served.stream(9, 1).granted(acquire("marker", 1, 0));
        Served.Stream marker = served.stream(8, 1);
        marker.granted(acquire("mark", 1, 0));
        marker.breakOff();
        await().untilAsserted(
                        () -> assertThat(describe("mark").getHoldersCount()).isZero());
        assertThat(describe("a").getHoldersCount()).isEqualTo(1);
    }

    @Test
    void aKeepAliveRenewsThisStreamsLeasesOnlyAndNamesTheLost() {
        Served.Stream stream = served.stream(1, 1);
        Served.Stream other = served.stream(2, 1);
        Granted mine = stream.granted(acquire("mine", 1, 0));
        other.granted(acquire("other", 1, 0));
        served.nanos.addAndGet(Duration.ofSeconds(6).toNanos());
        assertThat(stream.keepAlive(1).getLostList()).isEmpty();
        served.nanos.addAndGet(Duration.ofSeconds(6).toNanos());
        assertThat(describe("other").getHoldersCount()).isZero();
        assertThat(describe("mine").getHoldersCount()).isEqualTo(1);
        await().untilAsserted(() -> assertThat(other.events)
                .singleElement()
                .satisfies(event -> assertThat(event.getLost().getReason()).isEqualTo(LostReason.LOST_EXPIRED)));
        stream.release(mine);
        assertThat(stream.keepAlive(2).getLostList()).isEmpty();
        Granted again = stream.granted(acquire("mine", 2, 0));
        served.nanos.addAndGet(Duration.ofSeconds(11).toNanos());
        KeepAliveOrEvent.await(stream, again.getGrantId());
    }

    /** A lost lease is told by the keep-alive or, when time was quicker, by an event. */
    private static final class KeepAliveOrEvent {
        static void await(Served.Stream stream, ByteString grant) {
            boolean told = stream.keepAlive(3).getLostList().stream()
                    .anyMatch(lost -> lost.getGrantId().equals(grant));
            org.awaitility.Awaitility.await()
                    .until(() -> told
                            || stream.events.stream()
                                    .anyMatch(event ->
                                            event.getLost().getGrantId().equals(grant)));
        }
    }

    @Test
    void anOfferEchoesNoFrameThatCameAfterTheHandOff() {
        served.running = false;
        Served.Stream holder = served.stream(1, 1);
        Served.Stream waiter = served.stream(2, 1);
        for (int i = 1; i <= 20; i++) {
            Granted first = holder.granted(acquire("a" + i, i, 0));
            get(waiter.call(Call.newBuilder().setAcquire(acquire("a" + i, i, 60_000)), 1_000L * i));
            int before = waiter.events.size();
            if (i % 2 == 0) {
                served.nanos.addAndGet(1_000_000); // The frame came in an earlier millisecond than the hand-off.
            }
            CompletableFuture<Reply> released = holder.call(Call.newBuilder()
                    .setRelease(ReleaseRequest.newBuilder()
                            .setLock("a" + i)
                            .setGrantId(first.getGrantId())
                            .setToken(first.getToken())));
            // Frames that race the hand-off: sent after the release was, seen before or after the offer is told.
            for (int late = 1; late <= 5; late++) {
                waiter.send(ClientFrame.newBuilder().setSentNanos(1_000L * i + late));
            }
            get(released);
            await().until(() -> waiter.events.size() > before);
            ServerFrame offer = waiter.frames.stream()
                    .filter(frame -> frame.getEventsCount() > 0)
                    .reduce((one, next) -> next)
                    .orElseThrow();
            if (i % 2 == 0) {
                assertThat(offer.getSeenSentNanos()).isEqualTo(1_000L * i);
            } else {
                assertThat(offer.getSeenSentNanos()).isLessThanOrEqualTo(1_000L * (i - 1) + 5);
            }
            served.nanos.addAndGet(1_000_000);
            waiter.ask(Call.newBuilder().setAcquire(acquire("a" + i, i, 60_000)));
        }
    }

    @Test
    void aHalfClosedStreamStillGetsTheRepliesItIsOwed() {
        for (int i = 1; i <= 20; i++) {
            Served.Stream stream = served.stream(i, 1);
            CompletableFuture<Reply> reply = stream.call(Call.newBuilder().setAcquire(acquire("a" + i, 1, 0)));
            stream.out.onCompleted();
            assertThat(get(reply).getAcquire().hasGranted()).isTrue();
            assertThat(stream.ended).succeedsWithin(Duration.ofSeconds(5)).isNull();
        }
    }

    // ---- what is malformed ----

    @Test
    void everyMalformedUnaryRequestIsRefusedInOneLine() {
        List<AcquireRequest.Builder> wrong = List.of(
                acquire("", 1, 0),
                acquire("x".repeat(257), 1, 0),
                acquire("é".repeat(129), 1, 0),
                acquire("a\nb", 1, 0),
                acquire("a\u0000", 1, 0),
                acquire("a\u0085", 1, 0),
                acquire("a", 0, 0),
                acquire("a", -1, 0),
                acquire("a", 1, -1),
                acquire("a", 1, 24 * 3_600_000L + 1),
                acquire("a", 1, Long.MIN_VALUE),
                acquire("a", 1, 0).setMode(Mode.MODE_UNSPECIFIED),
                acquire("a", 1, 0).setModeValue(77),
                acquire("a", 1, 0).setTtlMillis(999),
                acquire("a", 1, 0).setTtlMillis(-1),
                acquire("a", 1, 0).setTtlMillis(300_001),
                acquire("a", 1, 0).setLockDelayMillis(-1),
                acquire("a", 1, 0).setLockDelayMillis(60_001),
                acquire("a", 1, 0).setLockAtLeastForMillis(-1),
                acquire("a", 1, 0).setLockAtLeastForMillis(3_600_001),
                acquire("a", 1, 0).setMode(Mode.SHARED).setLockAtLeastForMillis(1),
                acquire("a", 1, 0).setAgeMillis(-1),
                acquire("a", 1, 0).setPurpose("p".repeat(257)),
                acquire("a", 1, 0).setPurpose("\u001b[31m"),
                acquire("a", 1, 0).setOwner("o".repeat(257)),
                acquire("a", 1, 0).setOwner("o\r"));
        for (AcquireRequest.Builder request : wrong) {
            refused(() -> unaryAcquire(request, 1));
        }
        for (ByteString bad : badIds()) {
            refused(() ->
                    served.unary().acquire(acquire("a", 1, 0).setSessionId(bad).build()));
            refused(() -> served.unary()
                    .accept(AcceptRequest.newBuilder()
                            .setLock("a")
                            .setGrantId(session(1))
                            .setToken(1)
                            .setSessionId(bad)
                            .build()));
            refused(() -> served.unary()
                    .leave(LeaveRequest.newBuilder()
                            .setLock("a")
                            .setRequestId(1)
                            .setSessionId(bad)
                            .build()));
        }
        ByteString good = session(1);
        ByteString tooShort = ByteString.copyFromUtf8("short");
        refused(() -> served.unary().renew(renew("a", tooShort, 1).build()));
        for (long token : new long[] {0, -1, 1L << 53, Long.MAX_VALUE, Long.MIN_VALUE}) {
            refused(() -> served.unary().renew(renew("a", good, token).build()));
            refused(() -> served.unary()
                    .release(ReleaseRequest.newBuilder()
                            .setLock("a")
                            .setGrantId(good)
                            .setToken(token)
                            .setSessionId(good)
                            .build()));
        }
        for (long gen : new long[] {0, -1, 1L << 53, Long.MAX_VALUE}) {
            refused(() -> served.unary()
                    .resume(ResumeRequest.newBuilder()
                            .setLock("a")
                            .setGrantId(good)
                            .setToken(1)
                            .setSessionId(good)
                            .setSessionGen(gen)
                            .build()));
        }
        refused(() -> served.unary()
                .leave(LeaveRequest.newBuilder().setLock("a").setSessionId(good).build()));
        refused(() -> describe(""));
        assertThat(unaryAcquire(acquire("a", 1, 0).setAgeMillis(0), 1).hasGranted())
                .as("the server lives on")
                .isTrue();
    }

    private static RenewRequest.Builder renew(String lock, ByteString grant, long token) {
        return RenewRequest.newBuilder()
                .setLock(lock)
                .setGrantId(grant)
                .setToken(token)
                .setSessionId(session(1));
    }

    private static List<ByteString> badIds() {
        return List.of(
                ByteString.EMPTY,
                ByteString.copyFrom(new byte[15]),
                ByteString.copyFrom(new byte[16]),
                ByteString.copyFrom(new byte[17]),
                ByteString.copyFrom(new byte[100_000]));
    }

    private static void refused(Runnable call) {
        Throwable failure = catchThrowable(call::run);
        assertThat(reason(failure)).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(rejection(failure).message())
                .isNotBlank()
                .doesNotContain("\n")
                .doesNotContain("Exception");
        assertThat(((StatusRuntimeException) failure).getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    }

    @Test
    void aMalformedCallInAStreamIsRefusedAndTheStreamGoesOn() {
        Served.Stream stream = served.stream(1, 1);
        List<Call.Builder> wrong = List.of(
                Call.newBuilder(),
                Call.newBuilder().setAcquire(acquire("", 1, 0)),
                Call.newBuilder().setAcquire(acquire("a", 0, 0)),
                Call.newBuilder().setAcquire(acquire("a", 1, 0).setModeValue(9)),
                Call.newBuilder().setAccept(AcceptRequest.newBuilder().setLock("a")),
                Call.newBuilder().setRenew(RenewRequest.newBuilder().setLock("a")),
                Call.newBuilder().setRelease(ReleaseRequest.newBuilder().setLock("a")),
                Call.newBuilder().setLeave(LeaveRequest.newBuilder().setLock("a")),
                Call.newBuilder().setResume(ResumeRequest.newBuilder().setLock("a")),
                Call.newBuilder()
                        .setResumeMany(ResumeManyRequest.newBuilder()
                                .addGrants(ResumedGrant.newBuilder().setLock("a"))),
                Call.newBuilder().setDescribe(DescribeRequest.newBuilder()));
        for (Call.Builder call : wrong) {
            Reply reply = stream.ask(call);
            assertThat(reply.getRejected().getReason()).isEqualTo("MALFORMED_REQUEST");
            assertThat(reply.getRejected().getMessage()).isNotBlank().doesNotContain("\n");
        }
        assertThat(stream.granted(acquire("a", 1, 0)).getToken()).isPositive();
    }

    @Test
    void aMalformedFrameEndsItsStreamWithAReasonAndHarmsNoOther() {
        List<Consumer<Served.Stream>> wrong = List.of(
                stream -> stream.send(ClientFrame.newBuilder()),
                stream -> stream.send(
                        ClientFrame.newBuilder().addCalls(Call.newBuilder().setAcquire(acquire("a", 1, 0)))),
                stream -> stream.send(ClientFrame.newBuilder().setHello(Hello.newBuilder())),
                stream -> stream.send(hello(ByteString.copyFrom(new byte[16]), 1, "")),
                stream -> stream.send(hello(session(7), 0, "")),
                stream -> stream.send(hello(session(7), -5, "")),
                stream -> stream.send(hello(session(7), Long.MAX_VALUE, "")),
                stream -> stream.send(hello(session(7), 1, "o".repeat(257))),
                stream -> stream.send(hello(session(7), 1, "\u0007")),
                stream -> {
                    stream.send(hello(session(7), 1, ""));
                    stream.send(hello(session(7), 1, ""));
                });
        for (Consumer<Served.Stream> each : wrong) {
            Served.Stream stream = served.new Stream();
            each.accept(stream);
            assertThat(reason(stream.failure())).isEqualTo(Reason.MALFORMED_REQUEST);
            assertThat(rejection(stream.failure()).message()).doesNotContain("\n");
        }
        Served.Stream flooding = served.stream(1, 1);
        ClientFrame.Builder frame = ClientFrame.newBuilder();
        for (int i = 0; i <= Served.CALLS_IN_FLIGHT_MAX; i++) {
            frame.addCalls(Call.newBuilder()
                    .setCallId(i)
                    .setDescribe(DescribeRequest.newBuilder().setLock("a")));
        }
        flooding.send(frame);
        assertThat(reason(flooding.failure())).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(served.stream(7, 2).granted(acquire("a", 1, 0)).getToken()).isPositive();
    }

    private static ClientFrame.Builder hello(ByteString session, long gen, String owner) {
        return ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(session)
                        .setSessionGen(gen)
                        .setOwner(owner));
    }

    @Test
    void moreSessionsOrLocksThanTheLimitsAreRefused() {
        List<Served.Stream> streams = new ArrayList<>();
        for (int i = 1; i <= 50; i++) {
            Served.Stream stream = served.stream(i, 1);
            streams.add(stream);
            await().until(() -> !stream.frames.isEmpty());
        }
        assertThat(reason(served.stream(51, 1).failure())).isEqualTo(Reason.LIMIT_EXCEEDED);
        Served.Stream greedy = streams.get(0);
        CompletableFuture<Reply> last = new CompletableFuture<>();
        for (int i = 1; i <= 1_000; i++) {
            last = greedy.call(Call.newBuilder().setAcquire(acquire("lock" + i, i, 0)));
        }
        assertThat(get(last).getAcquire().hasGranted()).isTrue();
        assertThat(greedy.ask(Call.newBuilder().setAcquire(acquire("more", 2_000, 0)))
                        .getRejected()
                        .getReason())
                .isEqualTo("LIMIT_EXCEEDED");
    }

    @Test
    void aClientThatSendsAndNeverReadsStopsBeingRead() {
        Served.Stream deaf = served.new Stream(1, 1, false);
        AtomicInteger sent = new AtomicInteger();
        // Sends as long as the transport takes more: it stops taking when the server stops asking.
        long lastTaken = System.nanoTime();
        while (sent.get() < 20_000 && System.nanoTime() - lastTaken < 300_000_000L) {
            if (deaf.out.isReady()) {
                lastTaken = System.nanoTime();
                deaf.send(ClientFrame.newBuilder()
                        .addCalls(Call.newBuilder()
                                .setCallId(sent.incrementAndGet())
                                .setDescribe(DescribeRequest.newBuilder().setLock("a"))));
            } else {
                Thread.onSpinWait();
            }
        }
        assertThat(sent.get()).isLessThan(10 * Served.CALLS_IN_FLIGHT_MAX);
        assertThat(describe("a").getHoldersCount()).isZero();
        deaf.out.request(Integer.MAX_VALUE);
        await().untilAsserted(() -> assertThat(deaf.frames.stream()
                        .mapToInt(ServerFrame::getRepliesCount)
                        .sum())
                .as("every call is answered once it reads")
                .isEqualTo(sent.get()));
    }

    // ---- many at once ----

    @Test
    void neverTwoHoldersAndEveryoneIsServed() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger overlaps = new AtomicInteger();
        AtomicLong highest = new AtomicLong();
        AtomicInteger falls = new AtomicInteger();
        int[] served64 = new int[64];
        List<Thread> clients = new ArrayList<>();
        for (int c = 0; c < 64; c++) {
            int client = c;
            Thread thread = new Thread(() -> {
                for (int i = 1; i <= 8; i++) {
                    Granted granted = unaryAcquire(acquire("one", i, 60_000), 1_000 + client)
                            .getGranted();
                    if (inside.incrementAndGet() != 1) {
                        overlaps.incrementAndGet();
                    }
                    if (highest.getAndSet(granted.getToken()) >= granted.getToken()) {
                        falls.incrementAndGet();
                    }
                    served64[client]++;
                    inside.decrementAndGet();
                    unaryRelease(granted, 1_000 + client);
                }
            });
            thread.start();
            clients.add(thread);
        }
        for (Thread client : clients) {
            client.join();
        }
        assertThat(overlaps).hasValue(0);
        assertThat(falls).hasValue(0);
        assertThat(served64).containsOnly(8);
    }
}
