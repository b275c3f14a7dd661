package dev.palisade.client;

import dev.palisade.contract.HostName;
import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.Texts;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.DescribeRequest;
import io.grpc.ManagedChannel;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Deque;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A client of the lock service: one session, one stream, any number of leases. Connecting happens in the background and is
 * repeated for as long as the client is open; a server that cannot be reached shows in the answers, not here. Safe for use
 * by many threads; one per process is enough. Threads that wait for one lock EXCLUSIVE, with the same ttl, lock-delay and purpose,
 * pass it on among themselves, each with a fencing token of its own; nobody else waits longer for it.
 */
public final class PalisadeClient implements AutoCloseable {
    private final Session session;
    private final Optional<EventLoop> eventLoop;
    private final Channels channels;
    private final Alarm alarm;
    private final Callbacks callbacks;
    private final Operations operations;
    private final Map<AdvisoryLock.Holder, Deque<LeaseHandle>> advisoryHolds = new ConcurrentHashMap<>();

    private PalisadeClient(Builder builder) {
        Settings settings = builder.settings();
        Channels.check(builder.addresses);
        Function<String, ManagedChannel> factory = builder.channelFactory;
        this.eventLoop = factory == null ? Optional.of(new EventLoop()) : Optional.empty();
        this.channels = Channels.open(builder.addresses, factory == null ? eventLoop.orElseThrow()::channel : factory);
        this.alarm = builder.alarm == null ? new DaemonAlarm() : builder.alarm;
        this.callbacks = new Callbacks(builder.callbackExecutor);
        this.session = new Session(
                builder.clocks,
                alarm,
                eventLoop.map(loop -> (Entry) loop).orElseGet(() -> Entry.of(builder.entry)),
                new Waiting(builder.meanwhile),
                settings,
                callbacks,
                channels,
                SessionId.of(randomBytes()),
                builder.jitter);
        this.operations = new Operations(new UnaryCalls(session, channels));
        session.open();
    }

    /**
     * A client with default settings.
     *
     * @param addresses {@code host:port}; several, separated by commas, are tried in turn
     * @throws RejectedException MALFORMED_REQUEST when they are anything else
     */
    public static PalisadeClient connect(String addresses) {
        return builder(addresses).build();
    }

    /** @param addresses {@code host:port}; several, separated by commas, are tried in turn */
    public static Builder builder(String addresses) {
        return new Builder(addresses);
    }

    /**
     * Takes {@code lock} EXCLUSIVE, waiting without limit.
     *
     * @throws LockUnavailableException when the client is closed meanwhile, or a limit of the server is reached
     * @throws RejectedException when the request can never be right or is not allowed
     * @throws java.util.concurrent.CancellationException when interrupted; the flag stays set, the queue is left
     */
    public Lease acquire(String lock) {
        return acquire(lock, AcquireOptions.WAIT_ENDLESS);
    }

    /**
     * Takes {@code lock} EXCLUSIVE, waiting at most {@code wait}; zero tries once. Throws like {@link #acquire(String)}.
     *
     * @throws LockNotAcquiredException when it is not granted in time
     * @throws LockUnavailableException when no server could say
     */
    public Lease acquire(String lock, Duration wait) {
        return acquired(lock, AcquireOptions.defaults().wait(wait));
    }

    private LeaseHandle acquired(String lock, AcquireOptions options) {
        AcquireResult result = tryAcquire(lock, options);
        if (result instanceof AcquireResult.Granted granted) {
            return (LeaseHandle) granted.lease();
        }
        if (result instanceof AcquireResult.Unavailable unavailable) {
            throw new LockUnavailableException(new LockName(lock), unavailable.rejection());
        }
        throw new LockNotAcquiredException(new LockName(lock), result);
    }

    /**
     * Takes {@code lock} EXCLUSIVE if it is free now; blocks for one answer, at most for the call timeout.
     *
     * @throws RejectedException when the request can never be right or is not allowed
     * @throws IllegalStateException when the client is closed
     * @throws java.util.concurrent.CancellationException when interrupted; the flag stays set, nothing is held
     */
    public AcquireResult tryAcquire(String lock) {
        return tryAcquire(lock, AcquireOptions.defaults());
    }

    /**
     * Acquires as {@code options} say; blocks at most for their wait, for a try at most for the call timeout. Throws like {@link
     * #tryAcquire(String)}.
     */
    public AcquireResult tryAcquire(String lock, AcquireOptions options) {
        Acquire acquire = session.acquire(new LockName(lock), options);
        return session.waiting()
                .interruptibly(acquire.result(), () -> session.loop().execute(acquire::abandon));
    }

    /**
     * Does {@code work} under {@code lock}: acquires as {@code options} say, waiting no longer than their wait, calls it on this thread and
     * releases. When the lease is lost, this thread is interrupted so that the work ends ({@link AcquireOptions#interruptOnLoss} turns it
     * off), and what it returns is not taken for protected: the exception says so, and has it. An interrupt of the client's
     * never outlasts the work. What the work throws comes first; a loss is then among its suppressed exceptions.
     *
     * @return what the work returned, all of it done before the lease ended
     * @throws LockNotAcquiredException when the lock is not granted in time
     * @throws LockUnavailableException when no server could say
     * @throws LeaseLostException after the work has ended, when the lease was lost before that
     */
    public <T extends @Nullable Object, E extends Exception> T callLocked(
            String lock, AcquireOptions options, Lease.Work<T, E> work) throws E {
        return new LockedRun(acquired(lock, options), options.interruptsOnLoss()).call(work);
    }

    /** {@link #callLocked} for work without a result. */
    @SuppressWarnings("NullAway") // It does not read type arguments: the result may be null here.
    public <E extends Exception> void runLocked(String lock, AcquireOptions options, Lease.Task<E> task) throws E {
        Object unused = this.<@Nullable Object, E>callLocked(lock, options, lease -> {
            task.under(lease);
            return null;
        });
    }

    /**
     * {@code lock} as {@link java.util.concurrent.locks.Lock}, for code that knows no other; asks nobody yet. Of the options the
     * wait counts for nothing.
     *
     * @throws RejectedException MALFORMED_REQUEST when the name is none or the mode is not EXCLUSIVE
     */
    public AdvisoryLock advisoryLock(String lock, AcquireOptions options) {
        return new AdvisoryLock(session, new LockName(lock), options, advisoryHolds);
    }

    /**
     * Acquires without blocking. The future is completed on the callback executor. Cancelling it, or completing it in any
     * other way, as {@link CompletableFuture#orTimeout} does, leaves the queue, and a grant on its way is released; cancelling a future
     * derived from it does not. Waiting for it, or for what is derived from it, in a callback on the client's own thread throws
     * IllegalStateException, because only that thread could complete it.
     *
     * <p>Work under the lock needs a thread of its own: {@code thenAcceptAsync(work, executor)}. With {@code thenAccept(work)} the work
     * runs on the thread that would deliver the {@link Lease#onLost loss} of that very lease, so that work delays the notification of the loss.
     */
    public CompletableFuture<AcquireResult> acquireAsync(String lock, AcquireOptions options) {
        Acquire acquire = session.acquire(new LockName(lock), options);
        CompletableFuture<AcquireResult> forUser = new ClientFuture<>(callbacks, session.waiting());
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
     */
    public LockDescription describe(String lock) {
        LockName name = new LockName(lock);
        Call call = Call.newBuilder()
                .setDescribe(DescribeRequest.newBuilder().setLock(lock))
                .build();
        Inquiry<LockDescription> inquiry = new Inquiry<>(
                session,
                call,
                (reply, sent) -> {
                    if (!reply.hasDescribe()) {
                        throw RejectedException.malformed("a describe was answered with " + reply.getReplyCase());
                    }
                    return Wire.description(reply.getDescribe());
                },
                rejection -> new LockUnavailableException(name, rejection));
        return session.waiting()
                .interruptibly(
                        inquiry.ask(session.settings().callTimeout().toNanos()),
                        () -> session.loop().execute(inquiry::giveUp));
    }

    /** What is asked by others than holders: list, history, revoke, forced release, checks. Over with this client. */
    public Operations operations() {
        return operations;
    }

    /**
     * Releases what is held, leaves all queues, and ends the connection. Leases are lost with CLIENT_CLOSED. Blocks until the
     * server has confirmed, at most for the call timeout. Calling it again does nothing.
     */
    @Override
    public void close() {
        if (session.closing()) {
            return;
        }
        session.waiting().settle(session.close(), session.settings().callTimeout());
        session.stop();
        channels.close();
        eventLoop.ifPresent(EventLoop::stop);
        alarm.stop();
        callbacks.close();
    }

    private static byte[] randomBytes() {
        byte[] bytes = new byte[SessionId.BYTES];
        new SecureRandom().nextBytes(bytes);
        return bytes;
    }

    /** Settings of a client; each has a default. Not safe for use by several threads. */
    public static final class Builder {
        private final String addresses;
        private String owner = HostName.withPid();
        private Duration ttl = Duration.ZERO;
        private Duration connectTimeout = Duration.ofSeconds(2);
        private Duration callTimeout = Duration.ofSeconds(5);
        private boolean keepLeasesOnDisconnect;

        @Nullable
        private Executor callbackExecutor;

        @Nullable
        private Function<String, ManagedChannel> channelFactory;

        private Clocks clocks = new Clocks(System::nanoTime, System::currentTimeMillis);

        @Nullable
        private Alarm alarm;

        private Executor entry = Runnable::run;
        private Waiting.Meanwhile meanwhile = Waiting.IDLE;
        private DoubleSupplier jitter = () -> ThreadLocalRandom.current().nextDouble();

        private Builder(String addresses) {
            this.addresses = addresses;
        }

        /**
         * Who this is, for people: at most 256 bytes of UTF-8. Default: {@code HOST pid N}, with the host as {@link HostName} finds
         * it; in a container the process id alone is 1 everywhere.
         */
        public Builder owner(String newOwner) {
            owner = Texts.checked("owner", newOwner, 0, 256);
            return this;
        }

        /** The ttl of leases whose options name none, up to 5 min. Default: zero, which leaves it to the server. */
        public Builder ttl(Duration newTtl) {
            ttl = AcquireOptions.checkedTtl(newTtl);
            return this;
        }

        /** From opening a stream to the server's welcome; then the next address is tried. Default: 2 s. */
        public Builder connectTimeout(Duration newConnectTimeout) {
            connectTimeout = positive("connectTimeout", newConnectTimeout);
            return this;
        }

        /** How long one call to the server may take, reconnecting included. Default: 5 s. */
        public Builder callTimeout(Duration newCallTimeout) {
            callTimeout = positive("callTimeout", newCallTimeout);
            return this;
        }

        /** Leave the leases to their own end when the stream breaks, instead of freeing them after a grace. Default: false. */
        public Builder keepLeasesOnDisconnect(boolean keep) {
            keepLeasesOnDisconnect = keep;
            return this;
        }

        /**
         * Where callbacks run and futures are completed. Default: one daemon thread, made on demand; keep them short, and
         * never wait in one for another future of this client, which the same thread would have to complete: on the default thread
         * that throws, on one thread of yours it never ends. An executor that runs them on the calling thread stops the
         * client for as long as they take, or a thread of yours that has just released the lock in question.
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

        /** For tests. */
        Builder time(Clocks newClocks, Alarm newAlarm) {
            clocks = newClocks;
            alarm = newAlarm;
            return this;
        }

        /**
         * For tests.
         *
         * @param newEntry see {@link Entry#of}
         * @param newMeanwhile see {@link Waiting}
         * @param newJitter 0 to 1, of what is repeated
         */
        Builder turns(Executor newEntry, Waiting.Meanwhile newMeanwhile, DoubleSupplier newJitter) {
            entry = newEntry;
            meanwhile = newMeanwhile;
            jitter = newJitter;
            return this;
        }

        /**
         * A client that is connecting. Close it.
         *
         * @throws IllegalStateException when gRPC or protobuf-java on the class path is of a version that the client cannot run
         *     with; its cause is a {@link LinkageError}. If a client meets one later, all its calls throw this at once
         */
        public PalisadeClient build() {
            try {
                Wire.load();
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
                throw RejectedException.malformed(what + " is " + value + "; use a positive duration");
            }
            return value;
        }
    }
}
