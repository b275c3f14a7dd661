package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.guard.LockService.LeaseReply;
import dev.palisade.guard.LockService.LeaseRequest;
import dev.palisade.guard.LockService.RefusedCalls;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerReply;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseReply;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewReply;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ReportRefusalsReply;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.ReportedRefusal;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link GrpcLockService} against a server that answers what the test wants. */
class GrpcLockServiceTest {
    private static final LockName LOCK = new LockName("orders/42");

    private final List<StreamObserver<BarrierReply>> asked = new ArrayList<>();
    private BarrierReply barrier =
            BarrierReply.newBuilder().setIssuer("palisade").setToken(77).build();
    private final HistoryReply.Builder history = HistoryReply.newBuilder();
    private boolean answers = true;

    @Nullable
    private Rejection refusal;

    private AcquireRequest acquired = AcquireRequest.getDefaultInstance();

    private Server server;
    private ManagedChannel channel;
    private GrpcLockService lockService;

    @Nullable
    private ReportRefusalsRequest reported;

    @BeforeEach
    void start() throws IOException {
        String name = InProcessServerBuilder.generateName();
        server = InProcessServerBuilder.forName(name)
                .directExecutor()
                .addService(new Locks())
                .build()
                .start();
        channel = InProcessChannelBuilder.forName(name).directExecutor().build();
        lockService = GrpcLockService.at(channel, "palisade");
    }

    @AfterEach
    void stop() {
        channel.shutdownNow();
        server.shutdownNow();
    }

    /** A second lock server, which always answers. */
    private static final class Second extends LocksGrpc.LocksImplBase implements AutoCloseable {
        final List<BarrierRequest> asked = new ArrayList<>();
        private final String name = InProcessServerBuilder.generateName();
        private final Server server;
        final ManagedChannel channel =
                InProcessChannelBuilder.forName(name).directExecutor().build();

        Second() throws IOException {
            server = InProcessServerBuilder.forName(name)
                    .directExecutor()
                    .addService(this)
                    .build()
                    .start();
        }

        @Override
        public void barrier(BarrierRequest request, StreamObserver<BarrierReply> answer) {
            asked.add(request);
            answer.onNext(
                    BarrierReply.newBuilder().setIssuer("palisade").setToken(88).build());
            answer.onCompleted();
        }

        @Override
        public void close() {
            channel.shutdownNow();
            server.shutdownNow();
        }
    }

    @Test
    void aStandbysRequestGoesToTheNextServerAtOnceAndLaterOnesToo() throws Exception {
        try (Second second = new Second()) {
            GrpcLockService both = GrpcLockService.at(List.of(channel, second.channel), "palisade");
            refusal = new Rejection(Reason.NOT_ACTIVE, "a standby");
            assertThat(both.barrier(LOCK).toCompletableFuture()).isCompletedWithValue(88L);
            assertThat(both.barrier(LOCK).toCompletableFuture()).isCompletedWithValue(88L);
            assertThat(asked).hasSize(1);
            assertThat(second.asked).hasSize(2);
        }
    }

    @Test
    void afterAnotherFailureTheNextRequestGoesToTheNextServer() throws Exception {
        try (Second second = new Second()) {
            GrpcLockService both = GrpcLockService.at(List.of(channel, second.channel), "palisade");
            refusal = new Rejection(Reason.STORE_UNAVAILABLE, "busy");
            assertThat(both.barrier(LOCK).toCompletableFuture()).isCompletedExceptionally();
            assertThat(second.asked).isEmpty();
            assertThat(both.barrier(LOCK).toCompletableFuture()).isCompletedWithValue(88L);
        }
    }

    @Test
    void aStandbyThatIsAloneIsNoReasonOfTheCallsOwn() {
        refusal = new Rejection(Reason.NOT_ACTIVE, "a standby");
        assertThat(lockService.barrier(LOCK).toCompletableFuture())
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .havingRootCause()
                .isInstanceOfSatisfying(RejectedException.class, refused -> {
                    assertThat(refused.rejection().reason()).isEqualTo(Reason.STORE_UNAVAILABLE);
                    assertThat(refused.rejection().message()).contains("standby", "each lock server");
                });
    }

    private final class Locks extends LocksGrpc.LocksImplBase {
        @Override
        public void reportRefusals(ReportRefusalsRequest request, StreamObserver<ReportRefusalsReply> answer) {
            reported = request;
            if (refusal != null) {
                answer.onError(Rejections.toStatus(refusal));
            } else if (answers) {
                answer.onNext(ReportRefusalsReply.getDefaultInstance());
                answer.onCompleted();
            } else {
                super.reportRefusals(request, answer); // As a server that does not know the method.
            }
        }

        @Override
        public void barrier(BarrierRequest request, StreamObserver<BarrierReply> answer) {
            asked.add(answer);
            if (refusal != null) {
                answer.onError(Rejections.toStatus(refusal));
            } else if (answers) {
                answer.onNext(barrier);
                answer.onCompleted();
            }
        }

        @Override
        public void acquire(AcquireRequest request, StreamObserver<AcquireReply> answer) {
            acquired = request;
            answer.onNext(AcquireReply.newBuilder()
                    .setGranted(Granted.newBuilder()
                            .setToken(77)
                            .setGrantId(ByteString.copyFrom(new GrantId(6, 7).toBytes())))
                    .build());
            answer.onCompleted();
        }

        @Override
        public void renew(RenewRequest request, StreamObserver<RenewReply> answer) {
            assertThat(request)
                    .isEqualTo(RenewRequest.newBuilder()
                            .setLock("orders/42")
                            .setToken(77)
                            .setGrantId(ByteString.copyFrom(new GrantId(6, 7).toBytes()))
                            .setSessionId(ByteString.copyFrom(new SessionId(1, 2).toBytes()))
                            .build());
            answer.onNext(RenewReply.getDefaultInstance());
            answer.onCompleted();
        }

        @Override
        public void release(ReleaseRequest request, StreamObserver<ReleaseReply> answer) {
            answer.onError(Rejections.toStatus(new Rejection(Reason.NOT_HOLDER, "no " + request.getToken())));
        }

        @Override
        public void history(HistoryRequest request, StreamObserver<HistoryReply> answer) {
            answer.onNext(history.build());
            answer.onCompleted();
        }

        @Override
        public void checkSequencer(CheckSequencerRequest request, StreamObserver<CheckSequencerReply> answer) {
            boolean alive = request.getSequencer().byteAt(0) == 1;
            answer.onNext(CheckSequencerReply.newBuilder().setAlive(alive).build());
            answer.onCompleted();
        }
    }

    @Test
    void aBarrierIsTheTokenThatTheServerNames() {
        assertThat(lockService.barrier(LOCK).toCompletableFuture()).isCompletedWithValue(77L);
    }

    @Test
    void aLeaseIsAliveWhenTheServerSaysSo() {
        assertThat(lockService.isAlive(SignedSequencer.of(new byte[] {1})).toCompletableFuture())
                .isCompletedWithValue(true);
        assertThat(lockService.isAlive(SignedSequencer.of(new byte[] {2})).toCompletableFuture())
                .isCompletedWithValue(false);
    }

    @Test
    void registrationIsALeaseThatIsRenewedAndReleased() {
        LeaseRequest request = new LeaseRequest(
                LOCK,
                new RequestId(new SessionId(1, 2), 3),
                Duration.ofMillis(4),
                Duration.ofSeconds(10),
                "host pid 5",
                "guard with marks x");
        LeaseReply reply = lockService.tryAcquire(request).toCompletableFuture().join();
        assertThat(reply)
                .isEqualTo(new LeaseReply.Granted(LOCK, new SessionId(1, 2), new FencingToken(77), new GrantId(6, 7)));
        assertThat(acquired)
                .isEqualTo(AcquireRequest.newBuilder()
                        .setLock("orders/42")
                        .setMode(Mode.EXCLUSIVE)
                        .setTtlMillis(10_000)
                        .setRequestId(3)
                        .setAgeMillis(4)
                        .setSessionId(ByteString.copyFrom(new SessionId(1, 2).toBytes()))
                        .setOwner("host pid 5")
                        .setPurpose("guard with marks x")
                        .build());
        assertThat(lockService.renew((LeaseReply.Granted) reply).toCompletableFuture())
                .isCompleted();
        assertThat(lockService.release((LeaseReply.Granted) reply).toCompletableFuture())
                .isCompletedExceptionally();
    }

    /** Forced releases are remembered for longer than what happened between them and the rest. */
    @Test
    void recentTokensHaveNoGap() {
        history.addEntries(entry("FORCE_RELEASED", 5));
        history.addEntries(entry("GRANTED", 7)).addEntries(entry("QUEUED", 0)).addEntries(entry("FORCE_RELEASED", 7));
        history.addEntries(entry("GRANTED", 9)).addEntries(entry("RELEASED", 9));
        assertThat(lockService.recentTokens(LOCK)).isCompletedWithValue(List.of(7L, 9L));
        history.clear();
        assertThat(lockService.recentTokens(LOCK)).isCompletedWithValue(List.of());
        history.addEntries(entry("RELEASED", 3)).addEntries(entry("FORCE_RELEASED", 8));
        assertThat(lockService.recentTokens(LOCK))
                .as("of the newest one nothing else is known")
                .isCompletedWithValue(List.of());
    }

    private static HistoryEntry.Builder entry(String what, long token) {
        return HistoryEntry.newBuilder().setWhat(what).setToken(token);
    }

    @Test
    void aRefusalKeepsItsReason() {
        refusal = new Rejection(Reason.RECOVERING, "wait a little");
        assertThat(reason(lockService.barrier(LOCK))).isEqualTo(Reason.RECOVERING);
    }

    /** The guard's caller has its own rights, and would look there. */
    @Test
    void aRightThatTheGuardLacksIsNoneOfItsCaller() {
        for (Reason reason : List.of(Reason.PERMISSION_DENIED, Reason.UNAUTHENTICATED)) {
            refusal = new Rejection(reason, "gw may not guard 'orders/42'");
            Rejection rejection = rejection(lockService.barrier(LOCK));
            assertThat(rejection.reason()).isEqualTo(Reason.STORE_UNAVAILABLE);
            assertThat(rejection.message()).contains("it denies this guard: gw may not guard 'orders/42'");
        }
    }

    @Test
    void aServerThatIsNotThereIsAnUnavailableStore() {
        server.shutdownNow();
        assertThat(reason(lockService.barrier(LOCK))).isEqualTo(Reason.STORE_UNAVAILABLE);
    }

    /** What gRPC says of it has two lines, and the second is its channel pipeline. */
    @Test
    void aTlsChannelToAPlaintextServerIsOneLineWithItsCause() throws IOException {
        InetSocketAddress loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        Server plaintext = NettyServerBuilder.forAddress(loopback)
                .addService(new Locks())
                .build()
                .start();
        ManagedChannel tls = NettyChannelBuilder.forAddress(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), plaintext.getPort()))
                .useTransportSecurity()
                .build();
        try {
            GrpcLockService locks = GrpcLockService.at(tls, "palisade");
            LeaseRequest request = new LeaseRequest(
                    LOCK,
                    new RequestId(new SessionId(1, 2), 3),
                    Duration.ZERO,
                    Duration.ofSeconds(10),
                    "host pid 5",
                    "guard with marks x");
            assertThat(rejection(locks.tryAcquire(request)).message())
                    .startsWith("the lock server did not answer Acquire: UNAVAILABLE: ")
                    .containsIgnoringCase("ssl")
                    .doesNotContain("\n", "Channel Pipeline", "nothing was applied")
                    .hasSizeLessThan(250);
            assertThat(rejection(locks.barrier(LOCK)).message())
                    .containsOnlyOnce("nothing was applied: try again, and look at the lock server")
                    .doesNotContain("\n");
        } finally {
            tls.shutdownNow();
            plaintext.shutdownNow();
        }
    }

    @Test
    void aServerThatDoesNotAnswerIsAnUnavailableStoreInBoundedTime() {
        answers = false;
        assertThat(lockService.barrier(LOCK)).failsWithin(GrpcLockService.ANSWER_MAX.plus(Duration.ofSeconds(5)));
        assertThat(reason(lockService.barrier(LOCK))).isEqualTo(Reason.STORE_UNAVAILABLE);
    }

    @Test
    void aTokenOfAnotherIssuerIsRefused() {
        barrier = barrier.toBuilder().setIssuer("somebody").build();
        assertThat(reason(lockService.barrier(LOCK))).isEqualTo(Reason.STORE_UNAVAILABLE);
    }

    @Test
    void whatIsNoTokenIsRefused() {
        for (long no : new long[] {0, -1, 1L << 53}) {
            barrier = barrier.toBuilder().setToken(no).build();
            assertThat(reason(lockService.barrier(LOCK))).isEqualTo(Reason.STORE_UNAVAILABLE);
        }
    }

    @Test
    void theEndOfTheCallThatMadeTheGuardAskDoesNotEndTheQuestion() {
        answers = false;
        Context.CancellableContext call = Context.current().withCancellation();
        List<CompletableFuture<Long>> question = new ArrayList<>();
        call.run(() -> question.add(lockService.barrier(LOCK).toCompletableFuture()));
        call.cancel(null);
        assertThat(question.get(0)).isNotDone();
        asked.get(0).onNext(barrier);
        asked.get(0).onCompleted();
        assertThat(question.get(0)).isCompletedWithValue(77L);
    }

    private static Reason reason(CompletionStage<Long> answer) {
        return rejection(answer).reason();
    }

    private static Rejection rejection(CompletionStage<?> answer) {
        try {
            throw new AssertionError(
                    "answered with " + answer.toCompletableFuture().join());
        } catch (CompletionException e) {
            assertThat(e).hasCauseInstanceOf(RejectedException.class);
            return Route.rejection(e);
        }
    }

    private CompletionStage<Boolean> report() {
        return lockService.reportRefusals(
                "shop",
                List.of(new RefusedCalls(
                        LOCK,
                        "r",
                        Reason.TOKEN_STALE,
                        33,
                        OptionalLong.of(65),
                        Optional.of(Duration.ofMillis(30)),
                        Duration.ofMillis(20),
                        Duration.ofMillis(10),
                        2)));
    }

    @Test
    void refusalsAreReported() {
        assertThat(report().toCompletableFuture()).isCompletedWithValue(true);
        assertThat(reported)
                .isEqualTo(ReportRefusalsRequest.newBuilder()
                        .setGuard("shop")
                        .addRefusals(ReportedRefusal.newBuilder()
                                .setLock("orders/42")
                                .setResource("r")
                                .setReason("TOKEN_STALE")
                                .setPresentedToken(33)
                                .setMarkToken(65)
                                .setMarkRaisedMillisAgo(30)
                                .setFirstMillisAgo(20)
                                .setLastMillisAgo(10)
                                .setCount(2))
                        .build());
    }

    @Test
    void anOlderServerTakesNoReports() {
        answers = false;
        assertThat(report().toCompletableFuture()).isCompletedWithValue(false);
    }

    @Test
    void aGuardWithoutTheRightGetsAFailureOfTheReport() {
        refusal = new Rejection(Reason.PERMISSION_DENIED, "no");
        assertThat(report().toCompletableFuture()).isCompletedExceptionally();
    }
}
