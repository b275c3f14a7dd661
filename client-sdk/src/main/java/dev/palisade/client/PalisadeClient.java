package dev.palisade.client;

import dev.palisade.contract.HostName;
import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LockNotAcquiredException;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.DescribeRequest;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A client of the lock service: one session, one stream, any number of leases. It connects in the background, and
 * reconnects as long as it is open. A server that cannot be reached fails the calls, not the constructor. Safe for use by
 * many threads; one client per process is enough.
 *
 * <p>Threads that wait for the same EXCLUSIVE lock with the same ttl, lock-delay and purpose hand it off locally, each
 * with its own fencing token. This never makes another client wait for more holders.
 */
public final class PalisadeClient implements AutoCloseable {
    private final Session session;
    private final Optional<EventLoop> eventLoop;
    private final Channels channels;
    private final WakeupTimer wakeupTimer;
    private final Callbacks callbacks;
    private final Operations operations;
    private final Map<AdvisoryLock.Holder, Deque<LeaseHandle>> advisoryHolds = new ConcurrentHashMap<>();

    private PalisadeClient(Builder builder) {
        Settings settings = builder.settings();
        Function<String, ManagedChannel> forTests = builder.channelFactory;
        this.eventLoop = forTests == null || builder.wakeupTimer == null
                ? Optional.of(builder.eventLoop.get())
                : Optional.empty();
        this.channels = opened(builder, forTests, eventLoop);
        this.wakeupTimer = builder.wakeupTimer == null ? eventLoop.orElseThrow() : builder.wakeupTimer;
        this.callbacks = new Callbacks(builder.callbackExecutor);
        this.session = new Session(
                builder.clocks,
                wakeupTimer,
                forTests == null ? eventLoop.orElseThrow() : LoopExecutor.of(builder.loopExecutor),
                new BlockingWait(builder.blockingStrategy, builder.clocks),
                settings,
                callbacks,
                channels,
                SessionId.of(randomBytes()),
                builder.jitter);
        this.operations = new Operations(new UnaryCalls(session, channels));
        session.open();
    }

    private static Channels opened(
            Builder builder, @Nullable Function<String, ManagedChannel> forTests, Optional<EventLoop> eventLoop) {
        if (forTests != null) {
            return Channels.open(builder.servers, forTests, builder.probes);
        }
        EventLoop loop = eventLoop.orElseThrow();
        try {
            return Channels.open(
                    builder.servers,
                    server -> loop.channel(builder.scheme + server, builder.credentials, builder.customizeChannel),
                    true);
        } catch (RuntimeException e) {
            loop.stop();
            throw e;
        }
    }

    /**
     * A client with default settings and connections in plaintext. It connects in the background; close it.
     *
     * @param servers one or more of {@code host:port}, tried in turn
     * @throws IllegalArgumentException when one is anything else, or there is none
     * @throws IllegalStateException as {@link Builder#build} throws it
     */
    public static PalisadeClient connect(String... servers) {
        return builder().servers(servers).build();
    }

    /** Settings for a client; name its servers by {@link Builder#servers} or {@link Builder#target}. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Whether the client had a session with a lock server a moment ago. For health checks and people: it says nothing
     * about a lease, which outlives a reconnect, and a call may still fail or succeed. Never blocks.
     */
    public boolean isConnected() {
        return session.connected();
    }

    /**
     * Takes {@code lock} EXCLUSIVE, waiting without limit. The same as {@code acquire(lock, AcquireOptions.waiting())};
     * see {@link #acquire(String, AcquireOptions)} for what it throws.
     */
    public Lease acquire(String lock) throws InterruptedException {
        return acquire(lock, AcquireOptions.waiting());
    }

    /**
     * Takes {@code lock} EXCLUSIVE, waiting for at most {@code limit}; zero tries once. The same as
     * {@code acquire(lock, AcquireOptions.waiting(limit))}; see {@link #acquire(String, AcquireOptions)} for what it
     * throws.
     */
    public Lease acquire(String lock, Duration limit) throws InterruptedException {
        return acquire(lock, AcquireOptions.waiting(limit));
    }

    /**
     * Takes {@code lock} as {@code options} say. Blocks at most for their wait; a try for one answer, at most for the
     * call timeout.
     *
     * @param lock its name, 1 to 256 bytes of UTF-8 without control characters
     * @return to be closed by the caller
     * @throws LockNotAcquiredException when it is not granted in time
     * @throws LockUnavailableException when no server could say, the client is closed meanwhile, or a limit of the
     *     server is reached
     * @throws RejectedException when the server or a guard refuses the request
     * @throws IllegalArgumentException when the name can never be right
     * @throws IllegalStateException when the client is closed
     * @throws InterruptedException when interrupted before or while waiting; the queue is left and nothing is held
     */
    public Lease acquire(String lock, AcquireOptions options) throws InterruptedException {
        return acquired(lock, options);
    }

    private LeaseHandle acquired(String lock, AcquireOptions options) throws InterruptedException {
        AcquireResult result = tryAcquire(lock, options);
        if (result instanceof AcquireResult.Granted granted) {
            return (LeaseHandle) granted.lease();
        }
        LockName name = Arguments.lock(lock);
        if (result instanceof AcquireResult.Unavailable unavailable) {
            throw new LockUnavailableException(name, unavailable.rejection());
        }
        if (result instanceof AcquireResult.Busy busy) {
            throw LockNotAcquiredException.busy(
                    name, busy.holder(), busy.remaining(), busy.minimumHoldRemaining(), busy.waiters());
        }
        throw LockNotAcquiredException.timedOut(name);
    }

    /**
     * Takes {@code lock} EXCLUSIVE if it is free now. The same as {@code tryAcquire(lock, AcquireOptions.trying())};
     * see {@link #tryAcquire(String, AcquireOptions)} for what it throws.
     */
    public AcquireResult tryAcquire(String lock) throws InterruptedException {
        return tryAcquire(lock, AcquireOptions.trying());
    }

    /**
     * Takes {@code lock} as {@code options} say, and returns what came of it: not getting the lock is a result, not an
     * exception. Blocks at most for their wait; a try for one answer, at most for the call timeout.
     *
     * @param lock its name, 1 to 256 bytes of UTF-8 without control characters
     * @throws RejectedException when the server or a guard refuses the request
     * @throws IllegalArgumentException when the name can never be right
     * @throws IllegalStateException when the client is closed
     * @throws InterruptedException when interrupted before or while waiting; the queue is left and nothing is held
     */
    public AcquireResult tryAcquire(String lock, AcquireOptions options) throws InterruptedException {
        LockName name = Arguments.lock(lock);
        BlockingWait.checkInterrupt();
        Acquire acquire = session.acquire(name, options);
        return session.blockingWait()
                .interruptibly(acquire.result(), () -> session.loop().execute(acquire::abandon));
    }

    /**
     * Does {@code work} under {@code lock}: acquires as {@code options} say, waiting no longer than their wait, calls
     * it on this thread and releases. When the lease is lost, this thread is interrupted so that the work ends ({@link
     * AcquireOptions#interruptOnLoss} turns it off), and what it returns is not taken for protected: the exception says
     * so; a result that is needed all the same has to be kept by the work. What the work throws comes first; a loss is
     * then among its suppressed exceptions.
     *
     * <p>The client clears its interrupt after the work. It keeps a flag that was set before the loss, or that is set
     * when the work throws {@link InterruptedException}: that is another's, or may be. From other work, an interrupt
     * that came from elsewhere after the loss cannot be told from the client's and is cleared with it;
     * {@link AcquireOptions#interruptOnLoss} avoids that.
     *
     * @return what the work returned, all of it done before the lease ended
     * @throws LockNotAcquiredException when the lock is not granted in time
     * @throws LockUnavailableException when no server could say
     * @throws LeaseLostException after the work has ended, when the lease was lost before that
     * @throws InterruptedException when interrupted before or while waiting for the lock: the work was not begun; or by
     *     the work itself, which an interrupt ended
     * @throws E what the work throws
     */
    public <T extends @Nullable Object, E extends Exception> T callLocked(
            String lock, AcquireOptions options, Lease.Work<T, E> work) throws E, InterruptedException {
        return new LockedRun(acquired(lock, options), options.interruptsOnLoss()).call(work);
    }

    /** {@link #callLocked} for work without a result. */
    @SuppressWarnings("NullAway") // It does not read type arguments: the result may be null here.
    public <E extends Exception> void runLocked(String lock, AcquireOptions options, Lease.Task<E> task)
            throws E, InterruptedException {
        Object unused = this.<@Nullable Object, E>callLocked(lock, options, lease -> {
            task.under(lease);
            return null;
        });
    }

    /**
     * {@code lock} as {@link java.util.concurrent.locks.Lock}, for code that is written against that interface. Sends no
     * request yet. The wait of the options is ignored: each method of the lock has its own.
     *
     * @throws IllegalArgumentException when the name is none or the mode is not EXCLUSIVE
     */
    public AdvisoryLock advisoryLock(String lock, AcquireOptions options) {
        return new AdvisoryLock(session, Arguments.lock(lock), options, advisoryHolds);
    }

    /**
     * Acquires without blocking. The future is completed on the callback executor. Cancelling it, or completing it in
     * any other way, as {@link CompletableFuture#orTimeout} does, leaves the queue, and a grant on its way is released;
     * cancelling a future derived from it does not. BlockingWait for it, or for what is derived from it, in a callback
     * on the client's own thread throws IllegalStateException, because only that thread could complete it.
     *
     * <p>Work under the lock needs a thread of its own: {@code thenAcceptAsync(work, executor)}. With
     * {@code thenAccept(work)} the work runs on the thread that would deliver the {@link Lease#onLost loss} of that
     * very lease, so that work delays the notification of the loss.
     */
    public CompletableFuture<AcquireResult> acquireAsync(String lock, AcquireOptions options) {
        Acquire acquire = session.acquire(Arguments.lock(lock), options);
        CompletableFuture<AcquireResult> forUser = new ClientFuture<>(callbacks, session.blockingWait());
        Runnable abandon = () -> session.loop().execute(acquire::abandon);
        var unusedTold = acquire.result()
                .whenComplete((result, failure) -> callbacks.run(() -> {
                    boolean taken = failure == null ? forUser.complete(result) : forUser.completeExceptionally(failure);
                    if (!taken) {
                        abandon.run();
                    }
                }));
        var unusedWatched = forUser.whenComplete((result, failure) -> {
            if (result == null || !acquire.result().isDone()) {
                abandon.run();
            }
        });
        return forUser;
    }

    /**
     * Who holds {@code lock} and who waits for it. Blocks at most for the call timeout.
     *
     * @throws LockUnavailableException when no server could say
     * @throws RejectedException when the server refuses
     * @throws IllegalArgumentException when the name can never be right
     * @throws InterruptedException when interrupted before or while waiting
     */
    public LockDescription describe(String lock) throws InterruptedException {
        LockName name = Arguments.lock(lock);
        BlockingWait.checkInterrupt();
        Call call = Call.newBuilder()
                .setDescribe(DescribeRequest.newBuilder().setLock(lock))
                .build();
        DeadlineCall<LockDescription> describe = new DeadlineCall<>(
                session,
                call,
                (reply, sent) -> {
                    if (!reply.hasDescribe()) {
                        throw RejectedException.malformed("a describe was answered with " + reply.getReplyCase());
                    }
                    return ProtoMapper.description(reply.getDescribe());
                },
                rejection -> new LockUnavailableException(name, rejection));
        return session.blockingWait()
                .interruptibly(
                        describe.start(session.settings().callTimeout().toNanos()),
                        () -> session.loop().execute(describe::giveUp));
    }

    /** Leases, acquires and reconnects, for metrics. Never blocks. */
    public ClientStats stats() {
        return session.stats();
    }

    /**
     * Notifies {@code observer} of each acquire from now on, for as long as this client lives. Several observers are
     * notified in the order in which they were added.
     */
    public void observe(ClientObserver observer) {
        session.observers().add(observer);
    }

    /**
     * The calls of operators and guards: list, history, request of a release, forced release, checks. They end with
     * this client.
     */
    public Operations operations() {
        return operations;
    }

    /**
     * Releases what is held, leaves all queues, and ends the connection. Leases are lost with CLIENT_CLOSED. Blocks
     * until the server has confirmed, at most for the call timeout. Calling it again does nothing.
     */
    @Override
    public void close() {
        if (session.closing()) {
            return;
        }
        Duration limit = session.settings().callTimeout();
        session.blockingWait().settle(session.close(), limit);
        session.blockingWait().settle(session.stop(), limit);
        channels.close();
        eventLoop.filter(loop -> loop != wakeupTimer).ifPresent(EventLoop::stop);
        wakeupTimer.stop();
        callbacks.close();
    }

    private static byte[] randomBytes() {
        byte[] bytes = new byte[SessionId.BYTES];
        new SecureRandom().nextBytes(bytes);
        return bytes;
    }

    /** Settings of a client; each has a default. Not safe for use by several threads. */
    public static final class Builder {
        private List<String> servers = List.of();
        private String scheme = "";
        private ChannelCredentials credentials = InsecureChannelCredentials.create();
        private UnaryOperator<ManagedChannelBuilder<?>> customizeChannel = UnaryOperator.identity();
        private String owner = HostName.withPid();
        private Duration ttl = Duration.ZERO;
        private Duration connectTimeout = Duration.ofSeconds(2);
        private Duration callTimeout = Duration.ofSeconds(5);
        private boolean keepLeasesOnDisconnect;

        @Nullable
        private Executor callbackExecutor;

        @Nullable
        private Function<String, ManagedChannel> channelFactory;

        private boolean probes;

        private Clocks clocks = new Clocks(System::nanoTime, System::currentTimeMillis);

        @Nullable
        private WakeupTimer wakeupTimer;

        private Supplier<EventLoop> eventLoop = EventLoop::new;
        private Executor loopExecutor = Runnable::run;
        private BlockingWait.BlockingStrategy blockingStrategy = BlockingWait.BLOCK;
        private DoubleSupplier jitter = () -> ThreadLocalRandom.current().nextDouble();

        private Builder() {}

        /**
         * Where the lock servers are: one or more of {@code host:port}, each with a channel of its own. They are tried
         * in turn, also when the one that is connected reports that it cannot decide. To each of the others the client
         * keeps a connection, which it checks every 10 to 20 s, for the case that one of them takes over. Replaces what
         * was named before.
         *
         * @throws IllegalArgumentException when one is anything else, or there is none
         */
        public Builder servers(String... addresses) {
            return servers(List.of(addresses));
        }

        /** {@link #servers(String...)} as a list. */
        public Builder servers(List<String> addresses) {
            if (addresses.isEmpty()) {
                throw new IllegalArgumentException("no server is named; write host:port, such as 127.0.0.1:7600");
            }
            servers = addresses.stream().map(Channels::checkedAddress).toList();
            scheme = "dns:///";
            return this;
        }

        /**
         * Where the lock servers are, as a target of gRPC's name resolution, such as {@code dns:///locks:7600}. All of
         * it is one channel: gRPC chooses among the addresses, by default the first that accepts a connection. The
         * client cannot leave one of them that accepts connections and cannot decide; name the servers by
         * {@link #servers} where that matters. Replaces what was named before.
         *
         * @throws IllegalArgumentException when it is blank; {@link #build} throws it for a target that gRPC cannot
         *     resolve
         */
        public Builder target(String target) {
            if (target.isBlank()) {
                throw new IllegalArgumentException(
                        "the target is blank; write one of gRPC's, such as dns:///locks:7600");
            }
            servers = List.of(target);
            scheme = "";
            return this;
        }

        /**
         * How connections are secured: {@link io.grpc.TlsChannelCredentials} for TLS, with a client certificate for
         * mutual TLS. Default: {@link InsecureChannelCredentials}, plaintext.
         */
        public Builder credentials(ChannelCredentials newCredentials) {
            credentials = newCredentials;
            return this;
        }

        /**
         * Changes each channel to a lock server before it is built: interceptors, an authority to check the certificate
         * against, limits. Called once for each channel, last of all, in {@link #build}; a client of one address has a
         * second one, for checks. Interceptors run on the client's one network thread and must not block; security is
         * set by {@link #credentials} only. Replaces what was set before.
         *
         * @param customize returns the builder it is given
         */
        public Builder channel(UnaryOperator<ManagedChannelBuilder<?>> customize) {
            customizeChannel = customize;
            return this;
        }

        /**
         * Name of this client for operators, at most 256 bytes of UTF-8. Default: {@code HOST pid N}, with the host as
         * {@link HostName} finds it. The host is part of it because the process id is 1 in most containers.
         */
        public Builder owner(String newOwner) {
            owner = Arguments.text("owner", newOwner, 0, 256);
            return this;
        }

        /** The ttl of leases whose options name none, up to 5 min. Default: zero, which leaves it to the server. */
        public Builder ttl(Duration newTtl) {
            ttl = AcquireOptions.checkedTtl(newTtl);
            return this;
        }

        /**
         * From opening a stream to the server's welcome; then the next address is tried. One of several servers that
         * has taken the connection, and may be busy, gets the same time once more. Default: 2 s.
         */
        public Builder connectTimeout(Duration newConnectTimeout) {
            connectTimeout = positive("connectTimeout", newConnectTimeout);
            return this;
        }

        /** How long one call to the server may take, reconnecting included. Default: 5 s. */
        public Builder callTimeout(Duration newCallTimeout) {
            callTimeout = positive("callTimeout", newCallTimeout);
            return this;
        }

        /**
         * Leave the leases to their own end when the stream breaks, instead of freeing them after a grace. Default:
         * false.
         */
        public Builder keepLeasesOnDisconnect(boolean keep) {
            keepLeasesOnDisconnect = keep;
            return this;
        }

        /**
         * Where callbacks run and futures are completed. Default: one daemon thread, made on demand; keep them short,
         * and never wait in one for another future of this client, which the same thread would have to complete: on the
         * default thread that throws, on one thread of yours it never ends. An executor that runs them on the calling
         * thread stops the client for as long as they take, or a thread of yours that has just released the lock in
         * question.
         */
        public Builder callbackExecutor(Executor executor) {
            callbackExecutor = executor;
            return this;
        }

        /** For tests. */
        Builder channelFactory(Function<String, ManagedChannel> factory) {
            channelFactory = factory;
            return this;
        }

        /** For tests: a single server is checked on a second channel, as it is without a {@link #channelFactory}. */
        Builder probes() {
            probes = true;
            return this;
        }

        /** For tests and benchmarks. */
        Builder eventLoop(Supplier<EventLoop> newEventLoop) {
            eventLoop = newEventLoop;
            return this;
        }

        /** For tests. */
        Builder time(Clocks newClocks, WakeupTimer newWakeupTimer) {
            clocks = newClocks;
            wakeupTimer = newWakeupTimer;
            return this;
        }

        /**
         * For tests.
         *
         * @param newExecutor see {@link LoopExecutor#of}
         * @param newStrategy in place of blocking
         * @param newJitter 0 to 1: spreads retries
         */
        Builder execution(Executor newExecutor, BlockingWait.BlockingStrategy newStrategy, DoubleSupplier newJitter) {
            loopExecutor = newExecutor;
            blockingStrategy = newStrategy;
            jitter = newJitter;
            return this;
        }

        /**
         * A client that is connecting. Close it.
         *
         * @throws IllegalArgumentException when gRPC refuses the target or a setting of {@link #channel}
         * @throws IllegalStateException when no server is named; or when gRPC or protobuf-java on the class path is of
         *     a version that the client cannot run with; its cause is a {@link LinkageError}. If a client meets one
         *     later, all its calls throw this at once
         */
        public PalisadeClient build() {
            if (servers.isEmpty()) {
                throw new IllegalStateException("no lock server is named; call servers or target before build");
            }
            try {
                ProtoMapper.load();
                if (servers.size() > 1) {
                    Rejections.load(); // A stopping server, or a standby, rejects clients that could be at another.
                }
                return new PalisadeClient(this);
            } catch (LinkageError e) {
                throw LinkageErrors.exception(e);
            }
        }

        private Settings settings() {
            return new Settings(owner, ttl, connectTimeout, callTimeout, keepLeasesOnDisconnect);
        }

        private static Duration positive(String what, Duration value) {
            if (value.isNegative() || value.isZero() || value.compareTo(AcquireOptions.WAIT_ENDLESS) > 0) {
                throw new IllegalArgumentException(what + " is " + value + "; use a positive duration");
            }
            return value;
        }
    }
}
