package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.ClaimRequest;
import dev.palisade.proto.v1.GuardGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An acquire that claims, and guards whose replies the test decides. */
class ClaimTest extends Fixture {
    private final FakeGuard one = new FakeGuard("one");
    private final FakeGuard two = new FakeGuard("two");

    @AfterEach
    void stop() {
        one.close();
        two.close();
    }

    /** The claims that it received, and their sequencers. */
    private static final class FakeGuard extends GuardGrpc.GuardImplBase implements ServerInterceptor, AutoCloseable {
        private final List<String> asked = new CopyOnWriteArrayList<>();
        private final List<StreamObserver<ClaimReply>> open = new ArrayList<>();
        private final List<String> sequencers = new ArrayList<>();
        private final Server server;
        private final ManagedChannel channel;

        private FakeGuard(String name) {
            String address = InProcessServerBuilder.generateName();
            try {
                server = InProcessServerBuilder.forName(address)
                        .directExecutor()
                        .addService(this)
                        .intercept(this)
                        .build()
                        .start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            channel = InProcessChannelBuilder.forName(address)
                    .directExecutor()
                    .overrideAuthority(name)
                    .build();
        }

        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            sequencers.add(new String(SequencerHeader.require(headers).toBytes(), StandardCharsets.UTF_8));
            return next.startCall(call, headers);
        }

        @Override
        public void claim(ClaimRequest request, StreamObserver<ClaimReply> answer) {
            asked.add(request.getResource());
            open.add(answer);
        }

        void claims() {
            StreamObserver<ClaimReply> answer = open.remove(0);
            answer.onNext(ClaimReply.getDefaultInstance());
            answer.onCompleted();
        }

        void refuses(Reason reason) {
            open.remove(0).onError(Rejections.toStatus(new Rejection(reason, "because")));
        }

        @Override
        public void close() {
            channel.shutdownNow();
            server.shutdownNow();
        }
    }

    @Test
    void theLockIsGrantedWhenEveryGuardHasClaimedForIt() {
        CompletableFuture<AcquireResult> result =
                acquire(TRY.claiming(one.channel).claiming("orders/42/items", two.channel));
        assertThat(result).isNotDone();
        assertThat(one.asked).containsExactly(LOCK);
        assertThat(two.asked).containsExactly("orders/42/items");
        assertThat(one.sequencers).containsExactly("signed 1");
        one.claims();
        assertThat(result).isNotDone();
        two.claims();
        assertThat(leaseOf(result).isValid()).isTrue();
        assertThat(count(CallCase.RELEASE)).isZero();
    }

    @Test
    void anOfferIsClaimedTooBeforeItIsHandedOver() {
        server.script = ScriptedServer.silentOn(call -> call.hasAcquire(), server::grantAll);
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.claiming(one.channel));
        var unused = offerFresh();
        assertThat(result).isNotDone();
        one.claims();
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void aGuardThatRefusesEndsTheAcquireByNameAndReleasesTheLock() {
        CompletableFuture<AcquireResult> result = acquire(TRY.claiming(one.channel, two.channel));
        two.refuses(Reason.DRAINING);
        assertThat(unavailable(result).reason()).isEqualTo(Reason.DRAINING);
        assertThat(unavailable(result).message()).isEqualTo("guard two, claim of 'orders/42': because");
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void aClaimThatCanNeverBeRightIsThrown() {
        CompletableFuture<AcquireResult> result = acquire(TRY.claiming(one.channel));
        one.refuses(Reason.WRONG_RESOURCE);
        assertThatThrownBy(result::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.WRONG_RESOURCE));
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void aGuardThatIsNotThereEndsTheAcquireAndReleasesTheLock() {
        two.close();
        CompletableFuture<AcquireResult> result = acquire(TRY.claiming(one.channel, two.channel));
        assertThat(unavailable(result).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(unavailable(result).message()).startsWith("guard two, claim of 'orders/42': ");
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void claimsTakeNoLongerThanTheWait() {
        CompletableFuture<AcquireResult> result =
                acquire(AcquireOptions.waiting(Duration.ofSeconds(3)).claiming(one.channel, two.channel));
        one.claims();
        time.advanceMillis(2_999);
        assertThat(result).isNotDone();
        time.advanceMillis(1);
        assertThat(unavailable(result).message())
                .startsWith("1 of 2 guards did not claim for lock 'orders/42' in time");
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
    }

    @Test
    void claimsAfterAnOfferHaveTheTimeOfTheAcquire() {
        server.script = ScriptedServer.silentOn(call -> call.hasAcquire(), server::grantAll);
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.claiming(one.channel));
        var unused = offerFresh();
        time.advanceMillis(30_000);
        assertThat(result).as("an offer is 2 s long").isNotDone();
        one.claims();
        assertThat(leaseOf(result).isValid()).isTrue();
    }

    @Test
    void aLossOfTheLeaseEndsTheClaimsHoweverLongTheWait() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.claiming(one.channel));
        server.fallSilent();
        time.advanceMillis(8_980);
        assertThat(unavailable(result).reason()).isEqualTo(Reason.LEASE_EXPIRED);
        assertThat(unavailable(result).message()).contains("was lost (SERVER_UNREACHABLE)");
    }

    @Test
    void theLeaseIsKeptAliveMeanwhile() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.claiming(one.channel));
        time.advanceMillis(8_000);
        one.claims();
        assertThat(leaseOf(result).validFor()).isGreaterThan(Duration.ofSeconds(3));
    }

    @Test
    void anAcquireThatIsGivenUpMeanwhileReleasesTheLockAndTheClaims() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.claiming(one.channel));
        result.cancel(true);
        assertThat(count(CallCase.RELEASE)).isEqualTo(1);
        assertThat(((ServerCallStreamObserver<ClaimReply>) one.open.get(0)).isCancelled())
                .isTrue();
    }

    @Test
    void aClientThatIsClosedMeanwhileEndsTheAcquire() {
        CompletableFuture<AcquireResult> result = acquire(WAIT_MINUTE.claiming(one.channel));
        client.close();
        assertThat(unavailable(result).message()).contains("CLIENT_CLOSED");
    }

    @Test
    void aClientThatIsClosedEndsItAlsoWhileNoCallbackCanRun() throws Exception {
        PalisadeClient busy = PalisadeClient.builder()
                .servers("scripted:1")
                .channelFactory(server::channel)
                .callbackExecutor(callback -> {})
                .build();
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        new Thread(() -> {
                    try {
                        var unused = busy.acquire(LOCK, WAIT_MINUTE.claiming(one.channel));
                    } catch (RuntimeException | InterruptedException e) {
                        thrown.complete(e);
                    }
                })
                .start();
        await().until(() -> !one.asked.isEmpty());
        busy.close();
        assertThat(thrown.get(60, TimeUnit.SECONDS))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageContaining("CLIENT_CLOSED");
    }

    private static Rejection unavailable(CompletableFuture<AcquireResult> result) {
        assertThat(result).isCompleted();
        return ((AcquireResult.Unavailable) result.join()).rejection();
    }
}
