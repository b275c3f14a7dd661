package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.KeepAlive;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeManyRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.core.Limits;
import dev.palisade.server.engine.EngineConfig;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.Timer;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.embedded.EmbeddedConfig;
import dev.palisade.server.store.embedded.EmbeddedStore;
import dev.palisade.server.store.log.LoggedStore;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The service on the real store, called through gRPC in this process, with the store's clock in the test's hand. */
public final class Served implements AutoCloseable {
    static final int CALLS_IN_FLIGHT_MAX = 1_000;
    static final long GRACE_MILLIS = 1_000;
    static final long UNSENT_BYTES_MAX = 1 << 20;

    final AtomicLong nanos = new AtomicLong(1);
    final LockStore store;
    public final LockEngine engine;
    public final LocksRpc rpc;
    public final List<String> events = new CopyOnWriteArrayList<>();
    /** The next look at streams that are of no session, if there are any; time is in the test's hand. */
    final Queue<Runnable> looks = new ConcurrentLinkedQueue<>();

    final ManagedChannel channel;
    private final Server server;
    private final ExecutorService calls = Executors.newCachedThreadPool();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

    /** Encode pages; a test may put others in their place. */
    volatile Executor encoders = calls;

    /** Whether the engine's tasks that have a delay run. */
    volatile boolean runsDelayed = true;

    /** Whether time passes by itself. */
    volatile boolean running = true;

    final SequencerKeys keys = SequencerKeys.generate();
    volatile @Nullable Function<Sequencer, SignedSequencer> signer;

    /** On the real store. */
    public Served(Path directory) throws Exception {
        this(directory, UNSENT_BYTES_MAX);
    }

    /** On the real store, where that many bytes may wait to be sent over all streams. */
    Served(Path directory, long unsentBytesMax) throws Exception {
        this(served -> open(directory, served), unsentBytesMax);
    }

    /** On a store that the test has in its hand. */
    Served(LockStore store) throws Exception {
        this(served -> store, UNSENT_BYTES_MAX);
    }

    /** On the real store, with authentication. */
    Served(Path directory, AccessControl access) throws Exception {
        this(served -> open(directory, served), UNSENT_BYTES_MAX, access);
    }

    private Served(Function<Served, LockStore> opened, long unsentBytesMax) throws Exception {
        this(opened, unsentBytesMax, null);
    }

    private Served(Function<Served, LockStore> opened, long unsentBytesMax, @Nullable AccessControl access)
            throws Exception {
        store = opened.apply(this);
        Timer after = (millis, task) -> {
            var unused = timer.schedule(task, millis, TimeUnit.MILLISECONDS);
        };
        engine = new LockEngine(
                store,
                sequencer -> {
                    Function<Sequencer, SignedSequencer> other = signer;
                    return other == null ? keys.sign(sequencer) : other.apply(sequencer);
                },
                keys.verifier("test")::verify,
                new EngineConfig("test", GRACE_MILLIS, 1_000, 50),
                (millis, task) -> {
                    if (millis == 0 || runsDelayed) {
                        after.after(millis, task);
                    }
                },
                new EventLog(events::add, () -> 0, 1_000),
                new byte[32]);
        rpc = new LocksRpc(
                engine,
                Limits.DEFAULTS,
                "test",
                CALLS_IN_FLIGHT_MAX,
                unsentBytesMax,
                (millis, task) -> {
                    if (millis == Streams.SWEEP_MILLIS) {
                        looks.add(task);
                    } else {
                        after.after(millis, task);
                    }
                },
                task -> encoders.execute(task));
        String name = InProcessServerBuilder.generateName();
        server = InProcessServerBuilder.forName(name)
                .executor(calls)
                .addService(
                        access == null
                                ? rpc.service()
                                : ServerInterceptors.intercept(
                                        rpc.service(),
                                        new Authentication(access, null, engine.events(), engine.rejections())))
                .build()
                .start();
        channel = InProcessChannelBuilder.forName(name).build();
    }

    private static LoggedStore open(Path directory, Served served) {
        long started = System.nanoTime();
        try {
            return EmbeddedStore.open(
                    EmbeddedConfig.in(directory),
                    Limits.DEFAULTS,
                    () -> 1_800_000_000_000L,
                    () -> served.nanos.get() + (served.running ? System.nanoTime() - started : 0),
                    1,
                    why -> {
                        throw new AssertionError(why);
                    });
        } catch (StoreUnusable e) {
            throw new AssertionError(e);
        }
    }

    public LocksGrpc.LocksBlockingStub unary() {
        return LocksGrpc.newBlockingStub(channel).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    public static ByteString session(long number) {
        return ByteString.copyFrom(
                ByteBuffer.allocate(16).putLong(5).putLong(number).flip());
    }

    public static AcquireRequest.Builder acquire(String lock, long request, long waitMillis) {
        return AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setRequestId(request)
                .setWaitMillis(waitMillis);
    }

    static Reason reason(Throwable failure) {
        return rejection(failure).reason();
    }

    static Rejection rejection(Throwable failure) {
        return Rejections.ofThrowable(failure).orElseThrow(() -> new AssertionError("no ErrorInfo", failure));
    }

    Stream stream(long session, long gen) {
        return new Stream(session, gen, true);
    }

    Stream stream(Channel called, long session, long gen) {
        return new Stream(called, session, gen, true);
    }

    /** One client's session stream. */
    final class Stream implements ClientResponseObserver<ClientFrame, ServerFrame> {
        final List<ServerFrame> frames = new CopyOnWriteArrayList<>();
        final List<Event> events = new CopyOnWriteArrayList<>();
        /** What came, replies and events, in order. */
        final List<Object> heard = new CopyOnWriteArrayList<>();

        final Map<Long, CompletableFuture<Reply>> replies = new ConcurrentHashMap<>();
        final Map<Long, CompletableFuture<KeepAliveReply>> keepAlives = new ConcurrentHashMap<>();
        final CompletableFuture<@Nullable Throwable> ended = new CompletableFuture<>();
        final AtomicLong callIds = new AtomicLong();
        final ClientCallStreamObserver<ClientFrame> out;
        private final boolean reads;

        Stream(long session, long gen, boolean reads) {
            this(channel, session, gen, reads);
        }

        Stream(Channel called, long session, long gen, boolean reads) {
            this.reads = reads;
            this.out = (ClientCallStreamObserver<ClientFrame>)
                    LocksGrpc.newStub(called).session(this);
            send(ClientFrame.newBuilder()
                    .setHello(Hello.newBuilder()
                            .setSessionId(session(session))
                            .setSessionGen(gen)
                            .setOwner("client " + session)));
        }

        /** Without a hello. */
        Stream() {
            this.reads = true;
            this.out = (ClientCallStreamObserver<ClientFrame>)
                    LocksGrpc.newStub(channel).session(this);
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<ClientFrame> call) {
            if (!reads) {
                call.disableAutoRequestWithInitial(0);
            }
        }

        synchronized void send(ClientFrame.Builder frame) {
            out.onNext(frame.build());
        }

        CompletableFuture<Reply> call(Call.Builder call) {
            return call(call, 0);
        }

        CompletableFuture<Reply> call(Call.Builder call, long sentNanos) {
            long id = callIds.incrementAndGet();
            CompletableFuture<Reply> reply = new CompletableFuture<>();
            replies.put(id, reply);
            send(ClientFrame.newBuilder().addCalls(call.setCallId(id)).setSentNanos(sentNanos));
            return reply;
        }

        Reply ask(Call.Builder call) {
            return get(call(call));
        }

        Granted granted(AcquireRequest.Builder request) {
            Reply reply = ask(Call.newBuilder().setAcquire(request));
            if (!reply.getAcquire().hasGranted()) {
                throw new AssertionError("not granted: " + reply);
            }
            return reply.getAcquire().getGranted();
        }

        Reply release(Granted granted) {
            return ask(Call.newBuilder()
                    .setRelease(ReleaseRequest.newBuilder()
                            .setLock(granted.getLock())
                            .setGrantId(granted.getGrantId())
                            .setToken(granted.getToken())));
        }

        Reply resume(Granted granted) {
            return ask(Call.newBuilder()
                    .setResume(ResumeRequest.newBuilder()
                            .setLock(granted.getLock())
                            .setGrantId(granted.getGrantId())
                            .setToken(granted.getToken())));
        }

        /** Those that were not resumed. */
        List<ByteString> resumeMany(Granted... grants) {
            ResumeManyRequest.Builder several = ResumeManyRequest.newBuilder();
            for (Granted granted : grants) {
                several.addGrants(ResumedGrant.newBuilder()
                        .setLock(granted.getLock())
                        .setGrantId(granted.getGrantId())
                        .setToken(granted.getToken()));
            }
            Reply reply = ask(Call.newBuilder().setResumeMany(several));
            if (!reply.hasResumeMany()) {
                throw new AssertionError("not answered: " + reply);
            }
            return reply.getResumeMany().getNotResumedList();
        }

        KeepAliveReply keepAlive(long id) {
            return keepAlive(KeepAlive.newBuilder().setKeepAliveId(id));
        }

        KeepAliveReply keepAlive(KeepAlive.Builder keepAlive) {
            CompletableFuture<KeepAliveReply> reply = new CompletableFuture<>();
            keepAlives.put(keepAlive.getKeepAliveId(), reply);
            send(ClientFrame.newBuilder().setKeepAlive(keepAlive));
            return get(reply);
        }

        /** As when the process dies. */
        void breakOff() {
            out.cancel("the client died", null);
        }

        @Override
        public void onNext(ServerFrame frame) {
            frames.add(frame);
            heard.addAll(frame.getRepliesList());
            heard.addAll(frame.getEventsList());
            events.addAll(frame.getEventsList());
            for (Reply reply : frame.getRepliesList()) {
                CompletableFuture<Reply> waiting = replies.get(reply.getCallId());
                if (waiting != null) {
                    waiting.complete(reply);
                }
            }
            if (frame.hasKeepAlive()) {
                CompletableFuture<KeepAliveReply> waiting =
                        keepAlives.get(frame.getKeepAlive().getKeepAliveId());
                if (waiting != null) {
                    waiting.complete(frame.getKeepAlive());
                }
            }
        }

        @Override
        public void onError(Throwable failure) {
            ended.complete(failure);
        }

        @Override
        public void onCompleted() {
            ended.complete(null);
        }

        Throwable failure() {
            Throwable failure = get(ended);
            if (failure == null) {
                throw new AssertionError("the stream ended well");
            }
            return failure;
        }
    }

    static <T extends @Nullable Object> T get(CompletableFuture<T> future) {
        try {
            return future.get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError("not answered", e);
        }
    }

    @Override
    public void close() {
        channel.shutdownNow();
        server.shutdownNow();
        org.awaitility.Awaitility.await().until(server::isTerminated);
        timer.shutdownNow();
        store.close();
        calls.shutdown();
    }
}
