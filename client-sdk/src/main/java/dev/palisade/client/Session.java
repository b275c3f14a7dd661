package dev.palisade.client;

import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LostEvent;
import dev.palisade.proto.v1.OfferedEvent;
import dev.palisade.proto.v1.ReleaseRequestedEvent;
import dev.palisade.proto.v1.Reply;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The session of one client, which outlives its streams: its pending calls, acquires and leases. On each new stream it
 * resends the calls and resumes the leases. It releases grants that no acquire waits for. In the loop only, except
 * where stated.
 */
final class Session {
    private static final System.Logger LOG = System.getLogger(Session.class.getName());

    private static final long RECOVERING_MILLIS_MAX = TimeUnit.DAYS.toMillis(1);

    private final Loop loop;
    private final Settings settings;
    private final Callbacks callbacks;
    private final BlockingWait blockingWait;
    private final Channels channels;
    private final Connection connection;
    private final Leases leases = new Leases();
    private final CleanupCalls cleanupCalls = new CleanupCalls(this);
    private final Map<Long, PendingAcquire> pendingAcquires = new HashMap<>();
    private final LocalWaitQueues waitQueues = new LocalWaitQueues(this);
    private final Resumptions resumptions = new Resumptions(this);
    private final Set<PendingCall> pendingCalls = new LinkedHashSet<>();
    private final Observers observers = new Observers();
    private final AtomicInteger acquires = new AtomicInteger();
    private final CompletableFuture<@Nullable Void> settled = new CompletableFuture<>();
    private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
    private long lastRequestId;
    /** End of the recovery of the store, by the last reply that reported one. Until then no lock is granted. */
    private long recoveredAtNanos;

    private volatile boolean closing;
    /** Failure of a library that the client cannot run with. A new stream would fail in the same way. */
    @Nullable
    private volatile LinkageError linkage;

    Session(
            Clocks clocks,
            WakeupTimer wakeupTimer,
            LoopExecutor loopExecutor,
            BlockingWait blockingWait,
            Settings settings,
            Callbacks callbacks,
            Channels channels,
            SessionId id,
            DoubleSupplier jitter) {
        this.loop = new Loop(clocks, wakeupTimer, loopExecutor, this::bug);
        this.recoveredAtNanos = loop.now().nanos();
        this.settings = settings;
        this.callbacks = callbacks;
        this.blockingWait = blockingWait;
        this.channels = channels;
        this.connection = new Connection(loop, this, settings, channels, jitter, id);
    }

    // ---- any thread

    Loop loop() {
        return loop;
    }

    Settings settings() {
        return settings;
    }

    Callbacks callbacks() {
        return callbacks;
    }

    BlockingWait blockingWait() {
        return blockingWait;
    }

    boolean closing() {
        return closing;
    }

    boolean connected() {
        return connection.connected();
    }

    /** Blocks for {@code nanos}, or until the client is closed. */
    void pause(long nanos) throws InterruptedException {
        try {
            var unused = closed.get(nanos, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return;
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // It only completes normally.
        }
    }

    void open() {
        loop.execute(connection::connect);
    }

    Acquire acquire(LockName lock, AcquireOptions options) {
        Acquire acquire = new Acquire(this, lock, options, observers.acquiring(lock, options));
        acquires.incrementAndGet();
        loop.execute(acquire::begin);
        return acquire;
    }

    /** Counts an acquire that has its result; called once for each. */
    void acquireEnded() {
        acquires.decrementAndGet();
    }

    Observers observers() {
        return observers;
    }

    ClientStats stats() {
        return new ClientStats(leases.size(), acquires.get(), Math.max(0, connection.sessions() - 1));
    }

    /** Releases all leases and leaves all queues. The result is done once the server has confirmed it. */
    CompletableFuture<@Nullable Void> close() {
        loop.execute(() -> {
            closing = true;
            closed.complete(null);
            List.copyOf(pendingAcquires.values()).forEach(PendingAcquire::clientClosed);
            leases.all().forEach(GrantedLease::clientClosed);
            for (PendingCall pending : List.copyOf(pendingCalls)) {
                if (pending instanceof DeadlineCall<?> call) {
                    call.giveUp();
                }
            }
            checkSettled();
        });
        return settled;
    }

    /** Ends the connection and all calls. The result is done once each call has its outcome. */
    CompletableFuture<@Nullable Void> stop() {
        CompletableFuture<@Nullable Void> stopped = new CompletableFuture<>();
        loop.execute(() -> {
            end();
            stopped.complete(null);
        });
        return stopped;
    }

    /** The exception for calls of a closed or unusable client; null while it is usable. */
    @Nullable
    IllegalStateException ended() {
        LinkageError cause = linkage;
        if (closing) {
            return new IllegalStateException("the client is closed; build another");
        }
        return cause == null ? null : LinkageErrors.exception(cause);
    }

    // ---- pending calls

    SessionId id() {
        return connection.id();
    }

    long generation() {
        return connection.generation();
    }

    void start(PendingCall call) {
        pendingCalls.add(call);
        enqueue(call);
    }

    /** Sends the call again after a delay, or on the next stream if that opens first. */
    void retry(PendingCall call, long delayNanos) {
        loop.schedule(delayNanos, () -> enqueue(call));
    }

    void finish(@Nullable PendingCall call) {
        if (call != null && !call.done()) {
            call.markDone();
            pendingCalls.remove(call);
            checkSettled();
        }
    }

    private void enqueue(PendingCall call) {
        SessionStream stream = connection.live();
        if (stream != null && !call.done()) {
            stream.enqueue(call);
        }
    }

    private void checkSettled() {
        if (closing && pendingCalls.isEmpty()) {
            settled.complete(null);
        }
    }

    // ---- acquires and leases

    LocalWaitQueues waitQueues() {
        return waitQueues;
    }

    long register(PendingAcquire pending) {
        long requestId = ++lastRequestId;
        pendingAcquires.put(requestId, pending);
        demandChanged();
        return requestId;
    }

    void unregister(long requestId) {
        pendingAcquires.remove(requestId);
        demandChanged();
    }

    /** Leases to resume on the next stream. */
    Resumptions resumptions() {
        return resumptions;
    }

    void add(GrantedLease lease) {
        leases.add(lease);
        demandChanged();
    }

    void remove(GrantedLease lease) {
        leases.remove(lease);
        demandChanged();
    }

    OptionalLong smallestTtlMillis() {
        return leases.smallestTtlMillis();
    }

    boolean acquiring() {
        return !pendingAcquires.isEmpty();
    }

    boolean needsKeepAlive() {
        return acquiring() || !leases.isEmpty();
    }

    /** The first keep-alive whose reply may extend a lease that is added now. */
    long nextKeepAliveId() {
        SessionStream stream = connection.live();
        return stream == null ? Long.MAX_VALUE : stream.nextKeepAliveId();
    }

    /** Checks all leases by both clocks: timers use the monotonic clock only. */
    void checkDeadlines(ClockReading now) {
        leases.all().forEach(lease -> lease.checkDeadline(now));
    }

    private void demandChanged() {
        SessionStream stream = connection.live();
        if (stream != null) {
            stream.demandChanged();
        }
    }

    // ---- cleanup at the server

    /** Leaves the queue, and undoes a concurrent grant or offer. */
    void leave(String lock, long requestId) {
        cleanupCalls.leave(lock, requestId);
    }

    /** Releases a grant that no acquire waits for. */
    void release(Granted granted) {
        cleanupCalls.release(granted);
    }

    /**
     * Replaces the stream, because the server would renew a grant on it that this client has lost. The server abandons
     * leases that are not resumed on the next stream, with their lock-delay.
     */
    void renewConnection(String why) {
        connection.renew(why);
    }

    /** The rejection that stands for a missing reply. */
    Rejection unreachable() {
        return new Rejection(
                Reason.STORE_UNAVAILABLE,
                "no answer from the lock server at " + channels + " within the time given (" + state()
                        + "); check that it runs and can be reached");
    }

    /** The rejection that stands for an open stream without replies for {@code nanos}. */
    Rejection silent(long nanos) {
        return new Rejection(
                Reason.STORE_UNAVAILABLE,
                "no reply from the lock server at " + channels + " for " + TimeUnit.NANOSECONDS.toMillis(nanos)
                        + " ms; check that it runs and can be reached");
    }

    /** Records the rest of the recovery of the store, as a server reported it; 0: no recovery. */
    void recovers(long millis) {
        recoveredAtNanos = loop.now().nanos()
                + TimeUnit.MILLISECONDS.toNanos(Math.max(0, Math.min(RECOVERING_MILLIS_MAX, millis)));
    }

    /** The rejection that stands for a recovering store; empty if none is known. */
    Optional<Rejection> recovering() {
        long leftMillis =
                TimeUnit.NANOSECONDS.toMillis(recoveredAtNanos - loop.now().nanos());
        return leftMillis <= 0
                ? Optional.empty()
                : Optional.of(new Rejection(
                        Reason.RECOVERING,
                        "no lock is granted for another " + leftMillis
                                + " ms, because the store lost data; try again then",
                        Map.of(Rejection.RETRY_AFTER_MILLIS, Long.toString(leftMillis), Rejection.APPLIED, "no")));
    }

    /** How long a reply has been due without any reply; 0 without a stream. */
    long silentNanos() {
        SessionStream stream = connection.live();
        return stream == null ? 0 : stream.silentNanos();
    }

    /**
     * The last failure of a connection, such as an expired token that every server rejects; while there is one, why the
     * store of its server refuses; empty if neither is known.
     */
    String whyNotConfirmed() {
        SessionStream stream = connection.live();
        return stream == null ? state() : stream.storeRefusal();
    }

    private String state() {
        return connected() ? "connected" : "last failure: " + connection.lastFailure();
    }

    // ---- the end

    private void bug(Throwable failure) {
        LinkageErrors.in(failure)
                .ifPresentOrElse(this::unusable, () -> connection.replace("the client met a bug: " + failure));
    }

    /** Ends the client at once: all acquires, calls and leases, and every later call, fail with the reason. */
    void unusable(LinkageError error) {
        if (linkage != null) {
            return;
        }
        linkage = error;
        LOG.log(Level.ERROR, LinkageErrors.exception(error).getMessage());
        end();
        leases.all().forEach(lease -> lease.markLost(LostReason.SERVER_UNREACHABLE, "the client has ended"));
        failAcquires(() -> LinkageErrors.exception(error));
        checkSettled();
    }

    private void end() {
        connection.stop();
        for (PendingCall call : List.copyOf(pendingCalls)) {
            call.onClientEnd();
            finish(call);
        }
    }

    private void failAcquires(Supplier<RuntimeException> failure) {
        // When a request fails, its wait queue sends the next one.
        while (!pendingAcquires.isEmpty()) {
            List.copyOf(pendingAcquires.values()).forEach(pending -> pending.fail(failure.get()));
        }
    }

    // ---- notifications of the connection and its stream

    void connected(SessionStream stream) {
        recovers(0); // The replies of this server report a recovery.
        resumptions.begin(stream.resumeManyMax());
        pendingCalls.forEach(stream::enqueue);
    }

    void disconnected() {
        for (PendingCall call : List.copyOf(pendingCalls)) {
            if (!call.outlivesStream()) {
                finish(call);
            }
        }
        resumptions.streamBroken();
        leases.all().forEach(GrantedLease::streamBroken);
    }

    /** Handles a server that refuses the session. */
    void refused(Rejection rejection) {
        if (RejectionAction.of(rejection.reason()) == RejectionAction.THROW) {
            failAcquires(rejection::asException);
        }
    }

    /** @param renewed keep-alive whose renewals are confirmed; null if there is none */
    void keepAliveReplied(KeepAliveReply reply, KeepAlive.@Nullable Sent renewed) {
        recovers(reply.getRecoveringMillis());
        reply.getLostList().forEach(this::lost);
        if (renewed != null) {
            ClockReading now = loop.now();
            for (GrantedLease lease : leases.all()) {
                lease.keptAlive(renewed.id(), renewed.at(), now);
            }
        }
    }

    /** @param seen both clocks at a time before the event; null if unknown */
    void onEvent(Event event, @Nullable ClockReading seen) {
        switch (event.getEventCase()) {
            case OFFERED -> offered(event.getOffered(), seen);
            case LOST -> lost(event.getLost());
            case WAIT_ENDED -> {
                PendingAcquire pending =
                        pendingAcquires.get(event.getWaitEnded().getRequestId());
                if (pending != null) {
                    pending.waitEnded(event.getWaitEnded().getEnd());
                }
            }
            case RELEASE_REQUESTED -> releaseRequested(event.getReleaseRequested());
            case EVENT_NOT_SET -> {
                // An event of a newer server.
            }
        }
    }

    /** Handles a reply without a pending call. A grant in it that no lease has is released. */
    void strayReply(Reply reply) {
        if (reply.hasAcquire() && reply.getAcquire().hasGranted()) {
            releaseUnlessHeld(reply.getAcquire().getGranted());
        } else if (reply.hasAccept() && reply.getAccept().hasGranted()) {
            releaseUnlessHeld(reply.getAccept().getGranted());
        }
    }

    /** An offer may overtake the reply to a resent acquire. Then the grant is that of a lease. */
    private void releaseUnlessHeld(Granted granted) {
        if (!held(granted)) {
            release(granted);
        }
    }

    private boolean held(Granted granted) {
        try {
            GrantedLease lease = leases.get(ProtoMapper.grantId(granted.getGrantId()));
            return lease != null && lease.granted().token().value() == granted.getToken();
        } catch (RejectedException e) {
            return false;
        }
    }

    private void offered(OfferedEvent offer, @Nullable ClockReading seen) {
        PendingAcquire pending = pendingAcquires.get(offer.getRequestId());
        if (pending != null) {
            pending.offered(offer, seen);
        } else if (!held(
                offer.getGranted())) { // A duplicate of an accepted offer is not declined: that would end its lease.
            leave(offer.getGranted().getLock(), offer.getRequestId());
        }
    }

    private void releaseRequested(ReleaseRequestedEvent event) {
        try {
            GrantedLease lease = leases.get(ProtoMapper.grantId(event.getGrantId()));
            if (lease != null) {
                lease.releaseRequested(new Lease.ReleaseRequest(event.getBy(), event.getWhy()));
            }
        } catch (RejectedException e) {
            LOG.log(Level.WARNING, "the server asked for a malformed grant to be given up", e);
        }
    }

    private void lost(LostEvent event) {
        try {
            GrantedLease lease = leases.get(ProtoMapper.grantId(event.getGrantId()));
            if (lease != null) {
                lease.markLost(ProtoMapper.lostReason(event.getReason()), event.getDetail());
            }
        } catch (RejectedException e) {
            LOG.log(Level.WARNING, "the server reported the loss of a malformed grant", e);
        }
    }
}
