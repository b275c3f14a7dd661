package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.KeepAlive;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.redis.RedisProcess;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A server whose locks are in Redis has one thread for its clients and for Redis. If anything waited on it for what Redis answers, no
 * call would ever be answered again.
 */
class OneLoopTest {
    private static final ByteString SESSION =
            ByteString.copyFrom(ByteBuffer.allocate(16).putLong(3).putLong(3).flip());
    private static final int TTL_MILLIS = 60_000;

    @TempDir
    Path home;

    private final RedisProcess redis = RedisProcess.start();
    private final EventLoopGroup clients = new MultiThreadIoEventLoopGroup(
            1, new DefaultThreadFactory("test-client", true), NioIoHandler.newFactory());
    private Set<Thread> before = Set.of();
    private RunningServer server;
    private ManagedChannel channel;
    private int requests;
    private boolean closed;

    @BeforeEach
    void start() throws Exception {
        before = Thread.getAllStackTraces().keySet();
        ServerCommand config = new ServerCommand();
        config.port = 0;
        config.store = redis.uri();
        config.init = true;
        config.failoverGrace = Duration.ZERO;
        config.keyset = home.resolve("keys.json");
        config.advertise = "localhost:7600";
        config.storeTimeout = Duration.ofSeconds(1); // So long a call waits for a batch without a reply.
        server = RunningServer.start(config);
        channel = NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()))
                .eventLoopGroup(clients)
                .channelType(NioSocketChannel.class)
                .directExecutor()
                .usePlaintext()
                .build();
        await().ignoreExceptions()
                .until(() -> locks().store(StoreRequest.getDefaultInstance()).getUp());
    }

    /** Its own limit: what hangs is interrupted here, too. */
    @AfterEach
    @Timeout(60)
    void stop() {
        channel.shutdownNow();
        close();
        redis.close();
        var unused = clients.shutdownGracefully();
    }

    private void close() {
        if (!closed) {
            closed = true;
            server.close();
        }
    }

    @Test
    void everyCallIsAnsweredByOneThreadThatWaitsForNobody() throws Exception {
        everyCall();
        stream();
        Thread loop = loop();
        long waited = waited(loop);
        for (int i = 0; i < 20; i++) {
            everyCall();
            stream();
        }

        assertThat(waited(loop)).as("how often it waited").isEqualTo(waited);
        assertThat(threads()).extracting(Thread::getName).noneMatch(name -> name.contains("ELG"));
    }

    @Test
    void everyCallIsAnsweredWhileRedisIsInTrouble() throws Exception {
        everyCall();
        for (Runnable trouble : List.<Runnable>of(
                () -> redis.ask("FLUSHALL"),
                () -> redis.ask("FUNCTION", "FLUSH"),
                () -> redis.ask("CLIENT", "KILL", "TYPE", "normal"),
                () -> redis.ask("CLIENT", "KILL", "TYPE", "pubsub"),
                redis::kill9)) {
            trouble.run();
            for (int i = 0; i < 10; i++) {
                answered(() -> locks().describe(
                                DescribeRequest.newBuilder().setLock("orders/7").build()));
                answered(() -> locks().acquire(acquire("orders/7", 0).build()));
                answered(() -> locks().list(ListRequest.getDefaultInstance()));
            }
        }
        redis.restart();
        await().ignoreExceptions().untilAsserted(this::everyCall);
    }

    @Test
    void whoWaitsIsAnsweredByAServerThatStopsAndThenNoThreadIsLeft() throws Exception {
        granted(acquire("orders/7", 0));
        Future<AcquireReply> waiting = LocksGrpc.newFutureStub(channel)
                .withDeadlineAfter(60, TimeUnit.SECONDS)
                .acquire(acquire("orders/7", 60_000).build());
        Frames frames = open();
        await().until(() -> locks().describe(
                                DescribeRequest.newBuilder().setLock("orders/7").build())
                        .getWaitersCount()
                == 1);
        Set<Thread> own = threads();
        assertThat(own).contains(loop());
        close();

        assertThat(rejection(waiting).reason()).isEqualTo(Reason.OUTCOME_UNKNOWN);
        assertThat(rejection(frames.ended).message()).startsWith("the lock server is stopping");
        channel.shutdownNow(); // Its timer is the server's, too.
        await().untilAsserted(() -> assertThat(own).filteredOn(Thread::isAlive).isEmpty());
    }

    private void everyCall() {
        String lock = "orders/8";
        LocksGrpc.LocksBlockingStub locks = locks();
        Granted held = granted(acquire(lock, 0));
        locks.renew(RenewRequest.newBuilder()
                .setLock(lock)
                .setSessionId(SESSION)
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .build());
        locks.resume(ResumeRequest.newBuilder()
                .setLock(lock)
                .setSessionId(SESSION)
                .setSessionGen(1)
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .build());
        locks.describe(DescribeRequest.newBuilder().setLock(lock).build());
        locks.checkSequencer(CheckSequencerRequest.newBuilder()
                .setSequencer(held.getSequencer())
                .build());
        locks.list(ListRequest.getDefaultInstance());
        locks.history(HistoryRequest.newBuilder().setLock(lock).build());
        locks.sessions(SessionsRequest.getDefaultInstance());
        locks.store(StoreRequest.getDefaultInstance());
        locks.requestRelease(RequestReleaseRequest.newBuilder()
                .setLock(lock)
                .setBy("ops")
                .setWhy("a test")
                .build());
        locks.barrier(BarrierRequest.newBuilder().setLock("orders/barred").build());
        answered(() -> locks().accept(AcceptRequest.newBuilder()
                .setLock(lock)
                .setSessionId(SESSION)
                .setToken(1)
                .build()));
        answered(() -> locks().leave(LeaveRequest.newBuilder()
                .setLock(lock)
                .setSessionId(SESSION)
                .setRequestId(1)
                .build()));
        locks.release(ReleaseRequest.newBuilder()
                .setLock(lock)
                .setSessionId(SESSION)
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .build());
        granted(acquire(lock, 0));
        locks.forceRelease(ForceReleaseRequest.newBuilder()
                .setLock(lock)
                .setBy("ops")
                .setWhy("a test")
                .build());
    }

    /** A session that says hello, is granted a lock, keeps it and goes. */
    private void stream() throws Exception {
        Frames frames = open();
        frames.out.onNext(ClientFrame.newBuilder()
                .addCalls(Call.newBuilder().setCallId(1).setAcquire(acquire("orders/9", 0)))
                .build());
        frames.await(frame -> assertThat(frame.getReplies(0).getAcquire().hasGranted())
                .as("%s", frame)
                .isTrue());
        frames.out.onNext(ClientFrame.newBuilder()
                .setKeepAlive(KeepAlive.newBuilder().setKeepAliveId(1))
                .build());
        frames.await(frame -> assertThat(frame.getKeepAlive().getLostCount()).isZero());
        locks().forceRelease(ForceReleaseRequest.newBuilder()
                .setLock("orders/9")
                .setBy("ops")
                .setWhy("a test")
                .build());
        frames.await(frame -> assertThat(frame.getEvents(0).hasLost()).isTrue());
        frames.out.onCompleted();
        frames.ended.get(60, TimeUnit.SECONDS);
    }

    private Frames open() throws InterruptedException {
        Frames frames = new Frames(channel);
        frames.out.onNext(ClientFrame.newBuilder()
                .setHello(Hello.newBuilder().setSessionId(SESSION).setSessionGen(1 + requests))
                .build());
        frames.await(frame -> assertThat(frame.hasWelcome()).isTrue());
        return frames;
    }

    private LocksGrpc.LocksBlockingStub locks() {
        return LocksGrpc.newBlockingStub(channel).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    private AcquireRequest.Builder acquire(String lock, long waitMillis) {
        return AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setTtlMillis(TTL_MILLIS)
                .setWaitMillis(waitMillis)
                .setRequestId(++requests)
                .setSessionId(SESSION);
    }

    private Granted granted(AcquireRequest.Builder asked) {
        AcquireReply reply = locks().acquire(asked.build());
        assertThat(reply.hasGranted()).as("%s", reply).isTrue();
        return reply.getGranted();
    }

    private static Rejection rejection(Future<?> call) {
        Throwable failed = catchThrowable(() -> call.get(60, TimeUnit.SECONDS));
        return Rejections.ofThrowable(Objects.requireNonNull(failed.getCause())).orElseThrow();
    }

    /** With whatever: but it is the server that said it. */
    private static void answered(Runnable call) {
        try {
            call.run();
        } catch (StatusRuntimeException e) {
            assertThat(Rejections.ofThrowable(e)).as("%s", e).isPresent();
        }
    }

    private Thread loop() {
        List<Thread> loops = threads().stream()
                .filter(thread -> thread.getName().startsWith("palisade-loop"))
                .toList();
        assertThat(loops).hasSize(1);
        return loops.get(0);
    }

    /** Those that came with the server. */
    private Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread) && !thread.getName().startsWith("test-client"))
                // Of the JDK: whichever test of this JVM comes first begins it, and it stays.
                .filter(thread -> !thread.getName().equals("CompletableFutureDelayScheduler"))
                .collect(Collectors.toSet());
    }

    /** For a lock, a future or a time; for its sockets it waits in another way. */
    private static long waited(Thread thread) {
        return ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId()).getWaitedCount();
    }
}
