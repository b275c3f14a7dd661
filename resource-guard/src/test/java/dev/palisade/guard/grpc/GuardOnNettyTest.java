package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.grants.Grants;
import dev.palisade.guard.Guard;
import dev.palisade.guard.HeldMarks;
import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.PlainGrpc;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.stub.StreamObserver;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The guard on the real transport with one event loop and no other thread of the server's: a guard that held the thread
 * would starve the very call that it waits for.
 */
class GuardOnNettyTest {
    private static final Duration SOON = Duration.ofSeconds(10);

    private final Grants grants = new Grants();
    private final HeldMarks marks = new HeldMarks();
    private final ShopFloor floor = new ShopFloor();
    private final EventLoopGroup oneLoop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Guard guard = Guard.builder(grants.verifier(), marks)
            .maxWait(Duration.ofMinutes(1))
            .unknownOutcomeTimeout(Duration.ofMinutes(1))
            .build();
    private Server server;
    private ManagedChannel channel;

    @BeforeEach
    void start() throws Exception {
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .bossEventLoopGroup(oneLoop)
                .workerEventLoopGroup(oneLoop)
                .channelType(NioServerSocketChannel.class)
                .directExecutor()
                .addService(floor)
                .addService(new PlainGrpc.PlainImplBase() {})
                .intercept(GuardInterceptor.of(guard, ShopGrpc.getServiceDescriptor()))
                .build()
                .start();
        channel = NettyChannelBuilder.forAddress(
                        (InetSocketAddress) server.getListenSockets().get(0))
                .usePlaintext()
                .build();
    }

    @AfterEach
    void stop() throws Exception {
        channel.shutdownNow().awaitTermination(60, TimeUnit.SECONDS);
        server.shutdownNow().awaitTermination(60, TimeUnit.SECONDS);
        var unused = oneLoop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        guard.close();
    }

    @Test
    void aWaitingCallHoldsNoThreadThatTheCallItWaitsForNeeds() {
        Answer old = new Answer();
        StreamObserver<Item> upload = as(33).upload(old);
        upload.onNext(Served.item("one"));
        seen("upload", "one");
        Answer[] next = new Answer[20];
        for (int i = 0; i < next.length; i++) {
            next[i] = new Answer();
            as(34).put(Served.item("next"), next[i]);
        }
        // Stopping the stream, the handler's end and the next grant's start all need the one loop.
        assertThat(old.end).failsWithin(SOON);
        Served.refused(old, Reason.TOKEN_STALE);
        Awaitility.await().atMost(SOON).until(() -> floor.seen.contains("cancelled"));
        floor.open.remove().onCompleted();
        for (Answer answer : next) {
            assertThat(answer.end).succeedsWithin(SOON);
        }
    }

    @Test
    void aCallWhoseMarkIsOnItsWayToTheDiskHoldsNoThreadEither() {
        marks.hold();
        Answer waiting = new Answer();
        as(33).put(Served.item("waits"), waiting);
        Awaitility.await().atMost(SOON).until(() -> guard.stats().waiting() == 1);
        Answer refused = new Answer();
        ShopGrpc.newStub(channel).put(Served.item("bare"), refused);
        assertThat(refused.end).failsWithin(SOON);
        Served.refused(refused, Reason.SEQUENCER_MISSING);
        marks.sync();
        assertThat(waiting.end).succeedsWithin(SOON);
    }

    @Test
    void aHandlerThatHadToWaitMayBlockWithoutHoldingTheLoop() throws Exception {
        marks.hold();
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        floor.work = item -> {
            blocked.countDown();
            try {
                assertThat(goOn.await(60, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        Answer blocking = new Answer();
        as(33).put(Served.item("blocks"), blocking);
        Awaitility.await().atMost(SOON).until(() -> guard.stats().waiting() == 1);
        marks.sync();
        assertThat(blocked.await(60, TimeUnit.SECONDS)).isTrue();
        Answer read = new Answer();
        as(33).get(Served.item("beside"), read);
        assertThat(read.end).succeedsWithin(SOON);
        goOn.countDown();
        assertThat(blocking.end).succeedsWithin(SOON);
    }

    @Test
    void aMethodThatNobodySpokeOfIsRefusedAlthoughTheServerHasIt() {
        Answer answer = new Answer();
        PlainGrpc.newStub(channel).move(Served.item("x"), answer);
        assertThat(answer.end).failsWithin(SOON);
        Served.refused(answer, Reason.PERMISSION_DENIED);
    }

    @Test
    void manyMessagesOfAStreamArriveInOrder() {
        Answer answer = new Answer();
        StreamObserver<Item> upload = as(33).upload(answer);
        for (int i = 0; i < 1000; i++) {
            upload.onNext(Served.item("m" + i));
        }
        upload.onCompleted();
        assertThat(answer.end).succeedsWithin(SOON);
        assertThat(floor.seen).hasSize(1002);
        for (int i = 0; i < 1000; i++) {
            assertThat(floor.seen.get(i + 1)).isEqualTo("m" + i);
        }
    }

    @Test
    void aConnectionThatBreaksCancelsTheHandlerAndTheNextGrantWaitsForIt() {
        floor.answersAtOnce = false;
        as(33).put(Served.item("a"), new Answer());
        seen("put a");
        channel.shutdownNow();
        channel = NettyChannelBuilder.forAddress(
                        (InetSocketAddress) server.getListenSockets().get(0))
                .usePlaintext()
                .build();
        Answer next = new Answer();
        as(34).put(Served.item("b"), next);
        Awaitility.await().atMost(SOON).until(() -> guard.stats().waiting() == 1);
        StreamObserver<Done> old = floor.open.remove();
        floor.answersAtOnce = true;
        old.onError(Status.CANCELLED.asRuntimeException());
        assertThat(next.end).succeedsWithin(SOON);
    }

    private void seen(String... what) {
        Awaitility.await()
                .atMost(SOON)
                .untilAsserted(() -> assertThat(floor.seen).containsExactly(what));
    }

    private ShopGrpc.ShopStub as(long token) {
        return ShopGrpc.newStub(channel)
                .withInterceptors(
                        Served.header(grants.exclusive("items/1", token).toBytes()));
    }
}
