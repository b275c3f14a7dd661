package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.Waiter;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Kills the server's process in the middle of its work, again and again on one directory. What it had answered must stand
 * in the next life: grants held, releases done, the queue in order, tokens risen. More rounds: {@code -Dpalisade.kills=8}.
 */
class KillTest {
    private static final int ROUNDS = Integer.getInteger("palisade.kills", 3);
    private static final int LOCKS_PER_CLIENT = 5;
    private static final int TTL_MILLIS = 300_000;

    /** What one client knows of one lock only it uses. Unknown once a call was cut off. */
    private static final class Known {
        final String lock;
        final long session;
        long request;
        Granted held = Granted.getDefaultInstance();
        boolean isHeld;
        boolean unknown;
        long token;

        Known(String lock, long session) {
            this.lock = lock;
            this.session = session;
        }
    }

    private final List<String> wrong = new java.util.concurrent.CopyOnWriteArrayList<>();
    private final AtomicInteger grants = new AtomicInteger();
    private final AtomicInteger releases = new AtomicInteger();

    private static ByteString session(long number) {
        return ByteString.copyFrom(
                ByteBuffer.allocate(16).putLong(9).putLong(number).flip());
    }

    private static AcquireRequest.Builder acquire(String lock, long session, long request, long wait) {
        return AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setSessionId(session(session))
                .setOwner("client " + session)
                .setTtlMillis(TTL_MILLIS)
                .setWaitMillis(wait)
                .setRequestId(request);
    }

    private static ManagedChannel channel(int port) {
        return NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
    }

    /** Acquires and releases by unary calls until the server dies. */
    private final class UnaryClient implements Runnable {
        final List<Known> locks = new ArrayList<>();
        LocksGrpc.LocksBlockingStub stub;
        long requests;

        UnaryClient(int number, LocksGrpc.LocksBlockingStub stub) {
            this.stub = stub;
            for (int i = 0; i < LOCKS_PER_CLIENT; i++) {
                locks.add(new Known("unary-" + number + "-" + i, 100L + number));
            }
        }

        @Override
        public void run() {
            for (int turn = 0; ; turn++) {
                Known known = locks.get(turn % locks.size());
                try {
                    step(known);
                } catch (StatusRuntimeException cut) {
                    if (Rejections.ofThrowable(cut).isPresent()) {
                        wrong.add(known.lock + " refused: " + cut.getMessage());
                    }
                    known.unknown = true;
                    return;
                }
            }
        }

        private void step(Known known) {
            if (known.isHeld) {
                stub.release(ReleaseRequest.newBuilder()
                        .setLock(known.lock)
                        .setGrantId(known.held.getGrantId())
                        .setToken(known.held.getToken())
                        .setSessionId(session(known.session))
                        .build());
                known.isHeld = false;
                releases.incrementAndGet();
            } else {
                known.request = ++requests;
                AcquireReply reply = stub.acquire(
                        acquire(known.lock, known.session, known.request, 0).build());
                if (!reply.hasGranted()) {
                    wrong.add(known.lock + " is only this client's and was not granted: " + reply);
                    return;
                }
                granted(known, reply.getGranted());
            }
        }
    }

    private void granted(Known known, Granted granted) {
        if (granted.getToken() <= known.token) {
            wrong.add(known.lock + ": token " + granted.getToken() + " after " + known.token);
        }
        known.token = granted.getToken();
        known.held = granted;
        known.isHeld = true;
        grants.incrementAndGet();
    }

    /** The same on a session stream, all locks in one frame. */
    private final class StreamClient implements StreamObserver<ServerFrame> {
        final Map<Long, Known> calls = new ConcurrentHashMap<>();
        final List<Known> locks = new ArrayList<>();
        final long session;
        long gen;
        long requests;
        final AtomicLong callIds = new AtomicLong();
        volatile boolean ended;
        StreamObserver<ClientFrame> out = new StreamObserver<>() {
            @Override
            public void onNext(ClientFrame frame) {}

            @Override
            public void onError(Throwable failure) {}

            @Override
            public void onCompleted() {}
        };

        StreamClient(int number) {
            this.session = 200L + number;
            for (int i = 0; i < LOCKS_PER_CLIENT; i++) {
                locks.add(new Known("stream-" + number + "-" + i, session));
            }
        }

        void open(ManagedChannel channel) {
            ended = false;
            out = LocksGrpc.newStub(channel).session(this);
            out.onNext(ClientFrame.newBuilder()
                    .setHello(Hello.newBuilder()
                            .setSessionId(session(session))
                            .setSessionGen(++gen)
                            .setOwner("stream " + session))
                    .build());
        }

        synchronized void begin() {
            locks.forEach(this::next);
        }

        private void next(Known known) {
            long id = callIds.incrementAndGet();
            calls.put(id, known);
            known.unknown = true;
            Call.Builder call = Call.newBuilder().setCallId(id);
            if (known.isHeld) {
                call.setRelease(ReleaseRequest.newBuilder()
                        .setLock(known.lock)
                        .setGrantId(known.held.getGrantId())
                        .setToken(known.held.getToken()));
            } else {
                known.request = ++requests;
                call.setAcquire(acquire(known.lock, known.session, known.request, 0));
            }
            if (!ended) {
                out.onNext(ClientFrame.newBuilder().addCalls(call).build());
            }
        }

        @Override
        public synchronized void onNext(ServerFrame frame) {
            for (Reply reply : frame.getRepliesList()) {
                Known known = calls.remove(reply.getCallId());
                if (known == null) {
                    continue;
                }
                if (reply.hasRelease()) {
                    known.isHeld = false;
                    releases.incrementAndGet();
                } else if (reply.getAcquire().hasGranted()) {
                    granted(known, reply.getAcquire().getGranted());
                } else {
                    wrong.add(known.lock + ": " + reply);
                }
                known.unknown = false;
                next(known);
            }
        }

        @Override
        public void onError(Throwable failure) {
            ended = true;
        }

        @Override
        public void onCompleted() {
            ended = true;
        }
    }

    /** A kill is not a power cut: what the kernel has is enough. */
    @ParameterizedTest
    @ValueSource(strings = {"synced", "process"})
    void whatWasAnsweredStandsAfterEveryKill(String durability, @TempDir Path home) throws Exception {
        List<UnaryClient> unary = new ArrayList<>();
        List<StreamClient> streams = new ArrayList<>();
        ServerProcess server = server(home, durability);
        ManagedChannel channel = channel(server.port());
        for (int i = 0; i < 3; i++) {
            unary.add(new UnaryClient(i, LocksGrpc.newBlockingStub(channel)));
            streams.add(new StreamClient(i));
        }
        // One lock with a queue whose order must never change.
        Granted first = LocksGrpc.newBlockingStub(channel)
                .acquire(acquire("queue", 1, 1, 0).build())
                .getGranted();
        for (int waiter = 2; waiter <= 8; waiter++) {
            int waiting = waiter;
            park(channel, waiting);
            Awaitility.await().until(() -> waiters(channel).size() == waiting - 1);
        }
        Map<String, Long> floors = new HashMap<>();
        for (int round = 0; round < ROUNDS; round++) {
            ManagedChannel now = round == 0 ? channel : channel(server.port());
            if (round > 0) {
                check(round, now, unary, streams, first);
            }
            for (UnaryClient client : unary) {
                client.stub = LocksGrpc.newBlockingStub(now);
                client.locks.forEach(known -> known.unknown = false);
            }
            for (StreamClient client : streams) {
                client.open(now);
                client.locks.forEach(known -> known.unknown = false);
                resume(client, now);
            }
            int before = grants.get();
            List<Thread> threads = new ArrayList<>();
            for (UnaryClient client : unary) {
                Thread thread = new Thread(client);
                thread.start();
                threads.add(thread);
            }
            streams.forEach(StreamClient::begin);
            int enough = before + 60 + 37 * round;
            Awaitility.await().pollInterval(1, TimeUnit.MILLISECONDS).until(() -> grants.get() > enough);
            server.kill();
            for (Thread thread : threads) {
                thread.join();
            }
            now.shutdownNow();
            Awaitility.await().until(() -> streams.stream().allMatch(client -> client.ended));
            for (UnaryClient client : unary) {
                client.locks.forEach(known -> floors.merge(known.lock, known.token, Math::max));
            }
            assertThat(wrong).as("round " + round).isEmpty();
            server = server(home, durability);
        }
        ManagedChannel last = channel(server.port());
        check(ROUNDS, last, unary, streams, first);
        assertThat(wrong).isEmpty();
        assertThat(grants).hasValueGreaterThan(ROUNDS * 60);
        assertThat(releases).hasValueGreaterThan(ROUNDS * 20);
        assertThat(floors).isNotEmpty();
        last.shutdownNow();
        server.kill();
    }

    private static ServerProcess server(Path home, String durability) throws IOException {
        return ServerProcess.start(home, Map.of(), "server", "--port", "0", "--durability", durability);
    }

    private static void park(ManagedChannel channel, int waiter) {
        LocksGrpc.newStub(channel)
                .acquire(acquire("queue", waiter, 1, 86_400_000).build(), new StreamObserver<>() {
                    @Override
                    public void onNext(AcquireReply reply) {}

                    @Override
                    public void onError(Throwable failure) {}

                    @Override
                    public void onCompleted() {}
                });
    }

    private static List<String> waiters(ManagedChannel channel) {
        return describe(channel, "queue").getWaitersList().stream()
                .map(Waiter::getOwner)
                .toList();
    }

    private static DescribeReply describe(ManagedChannel channel, String lock) {
        return LocksGrpc.newBlockingStub(channel)
                .describe(DescribeRequest.newBuilder().setLock(lock).build());
    }

    private void check(
            int round, ManagedChannel channel, List<UnaryClient> unary, List<StreamClient> streams, Granted first) {
        List<Known> all = new ArrayList<>();
        unary.forEach(client -> all.addAll(client.locks));
        streams.forEach(client -> all.addAll(client.locks));
        for (Known known : all) {
            DescribeReply described = describe(channel, known.lock);
            if (!known.unknown && known.isHeld) {
                if (described.getHoldersCount() != 1
                        || described.getHolders(0).getToken() != known.held.getToken()
                        || described.getHolders(0).getRemainingMillis() < TTL_MILLIS - 60_000) {
                    wrong.add("round " + round + ": " + known.lock + " was granted and is not held: " + described);
                }
            } else if (!known.unknown && described.getHoldersCount() != 0) {
                wrong.add("round " + round + ": " + known.lock + " was released and is held: " + described);
            }
            settle(round, channel, known);
        }
        List<String> expected = new ArrayList<>();
        for (int waiter = 2; waiter <= 8; waiter++) {
            expected.add("client " + waiter);
        }
        if (!waiters(channel).equals(expected)) {
            wrong.add("round " + round + ": the queue is " + waiters(channel));
        }
        // Asked again from the back, each keeps its place.
        for (int waiter = 8; waiter >= 2; waiter--) {
            park(channel, waiter);
        }
        if (!waiters(channel).equals(expected)) {
            wrong.add("round " + round + ": after asking again the queue is " + waiters(channel));
        }
        if (describe(channel, "queue").getHolders(0).getToken() != first.getToken()) {
            wrong.add("round " + round + ": the queue's holder changed");
        }
    }

    /** Asks the same again where the answer was cut off, and renews what is held. */
    private void settle(int round, ManagedChannel channel, Known known) {
        LocksGrpc.LocksBlockingStub stub = LocksGrpc.newBlockingStub(channel);
        if (known.isHeld) {
            try {
                stub.renew(RenewRequest.newBuilder()
                        .setLock(known.lock)
                        .setGrantId(known.held.getGrantId())
                        .setToken(known.held.getToken())
                        .setSessionId(session(known.session))
                        .build());
            } catch (StatusRuntimeException refused) {
                boolean released = Rejections.ofThrowable(refused)
                        .filter(why -> why.reason() == Reason.LEASE_EXPIRED)
                        .isPresent();
                if (!known.unknown || !released) {
                    wrong.add("round " + round + ": " + known.lock + " cannot be renewed: " + refused.getMessage());
                }
                known.isHeld = false;
            }
            return;
        }
        if (known.unknown) {
            try {
                AcquireReply again = stub.acquire(
                        acquire(known.lock, known.session, known.request, 0).build());
                if (again.hasGranted()) {
                    granted(known, again.getGranted());
                } else {
                    wrong.add("round " + round + ": " + known.lock + " " + again);
                }
            } catch (StatusRuntimeException refused) {
                wrong.add("round " + round + ": " + known.lock + " " + refused.getMessage());
            }
        }
    }

    /** The stream's next generation takes over what the last one held. */
    private void resume(StreamClient client, ManagedChannel channel) {
        for (Known known : client.locks) {
            if (known.isHeld) {
                try {
                    LocksGrpc.newBlockingStub(channel)
                            .resume(ResumeRequest.newBuilder()
                                    .setLock(known.lock)
                                    .setGrantId(known.held.getGrantId())
                                    .setToken(known.held.getToken())
                                    .setSessionId(session(client.session))
                                    .setSessionGen(client.gen)
                                    .build());
                } catch (StatusRuntimeException refused) {
                    wrong.add(known.lock + " cannot be resumed: " + refused.getMessage());
                }
            }
        }
    }
}
