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
 * All that one client wants, holds and still has to say, across streams: pendingCalls are asked again on each new
 * stream, leases resumed, and what nobody here knows is given back at once. In the loop only, except where said.
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
    private final Map<Long, Place> places = new HashMap<>();
    private final Lines lines = new Lines(this);
    private final Resumptions resumptions = new Resumptions(this);
    private final Set<PendingCall> pendingCalls = new LinkedHashSet<>();
    private final Observers observers = new Observers();
    private final AtomicInteger acquires = new AtomicInteger();
    private final CompletableFuture<@Nullable Void> settled = new CompletableFuture<>();
    private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
    private long lastRequestId;
    /** Until when no lock is granted to anyone, by the last reply that said so. */
    private long recoveredAtNanos;

    private volatile boolean closing;
    /** Of a library that this client cannot run with; a new stream would meet it again. */
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

    /** Once for each acquire, when it has its result. */
    void acquireEnded() {
        acquires.decrementAndGet();
    }

    Observers observers() {
        return observers;
    }

    ClientStats stats() {
        return new ClientStats(leases.size(), acquires.get(), Math.max(0, connection.sessions() - 1));
    }

    /** Gives everything up; the result is done when the server has confirmed all of it. */
    CompletableFuture<@Nullable Void> close() {
        loop.execute(() -> {
            closing = true;
            closed.complete(null);
            List.copyOf(places.values()).forEach(Place::clientClosed);
            leases.all().forEach(HeldLease::clientClosed);
            for (PendingCall pending : List.copyOf(pendingCalls)) {
                if (pending instanceof DeadlineCall<?> call) {
                    call.giveUp();
                }
            }
            checkSettled();
        });
        return settled;
    }

    /** The result is done when everything that was asked has its outcome; another thread may be in the loop. */
    CompletableFuture<@Nullable Void> stop() {
        CompletableFuture<@Nullable Void> stopped = new CompletableFuture<>();
        loop.execute(() -> {
            end();
            stopped.complete(null);
        });
        return stopped;
    }

    /** Why nothing more can be asked of this client; null as long as it can. */
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

    // ---- what is wanted and held

    Lines lines() {
        return lines;
    }

    long register(Place place) {
        long requestId = ++lastRequestId;
        places.put(requestId, place);
        demandChanged();
        return requestId;
    }

    void unregister(long requestId) {
        places.remove(requestId);
        demandChanged();
    }

    /** Leases to resume on the next stream. */
    Resumptions resumptions() {
        return resumptions;
    }

    void hold(HeldLease lease) {
        leases.add(lease);
        demandChanged();
    }

    void drop(HeldLease lease) {
        leases.remove(lease);
        demandChanged();
    }

    OptionalLong smallestTtlMillis() {
        return leases.smallestTtlMillis();
    }

    boolean acquiring() {
        return !places.isEmpty();
    }

    boolean needsKeepAlive() {
        return acquiring() || !leases.isEmpty();
    }

    /** The first keep-alive whose answer may extend what is held from now on. */
    long nextKeepAliveId() {
        SessionStream stream = connection.live();
        return stream == null ? Long.MAX_VALUE : stream.nextKeepAliveId();
    }

    /** The wall clock may have ended leases whose timers go by the monotonic clock. */
    void dropExpired(ClockReading now) {
        leases.all().forEach(lease -> lease.checkDeadline(now));
    }

    private void demandChanged() {
        SessionStream stream = connection.live();
        if (stream != null) {
            stream.demandChanged();
        }
    }

    // ---- giving back

    /** Leaves the queue; undoes a grant or an offer that raced it. */
    void leave(String lock, long requestId) {
        cleanupCalls.leave(lock, requestId);
    }

    /** Frees a grant that nobody here wants. */
    void giveBack(Granted granted) {
        cleanupCalls.release(granted);
    }

    /**
     * Drops the stream, because the server would renew a grant on it that is lost or forgotten here. What is not
     * resumed on the next stream is abandoned, with its lock-delay.
     */
    void renewConnection(String why) {
        connection.renew(why);
    }

    /** Nobody answered, as a value. */
    Rejection unreachable() {
        return new Rejection(
                Reason.STORE_UNAVAILABLE,
                "no answer from the lock server at " + channels + " within the time given (" + state()
                        + "); check that it runs and can be reached");
    }

    /** The stream is open, and nothing was replied on it for so long. */
    Rejection silent(long nanos) {
        return new Rejection(
                Reason.STORE_UNAVAILABLE,
                "no reply from the lock server at " + channels + " for " + TimeUnit.NANOSECONDS.toMillis(nanos)
                        + " ms; check that it runs and can be reached");
    }

    /** A server said that no lock is granted to anyone for so long; 0: its store is not recovering. */
    void recovers(long millis) {
        recoveredAtNanos = loop.now().nanos()
                + TimeUnit.MILLISECONDS.toNanos(Math.max(0, Math.min(RECOVERING_MILLIS_MAX, millis)));
    }

    /** Why no lock is granted to anyone now; empty when the store is not known to recover. */
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

    /** For how long a reply has been due while nothing was replied; 0 while there is no stream. */
    long silentNanos() {
        SessionStream stream = connection.live();
        return stream == null ? 0 : stream.silentNanos();
    }

    /**
     * The last failure of a connection, such as an expired token that every server rejects; empty while there is one.
     */
    String whyNotConnected() {
        return connected() ? "" : "last failure: " + connection.lastFailure();
    }

    private String state() {
        return connected() ? "connected" : "last failure: " + connection.lastFailure();
    }

    // ---- the end

    private void bug(Throwable failure) {
        LinkageErrors.in(failure)
                .ifPresentOrElse(this::unusable, () -> connection.replace("the client met a bug: " + failure));
    }

    /** Ends everything at once: all that is asked and held, and every later call, fails with the reason. */
    void unusable(LinkageError error) {
        if (linkage != null) {
            return;
        }
        linkage = error;
        LOG.log(Level.ERROR, LinkageErrors.exception(error).getMessage());
        end();
        leases.all().forEach(lease -> lease.lostAtServer(LostReason.SERVER_UNREACHABLE, "the client has ended"));
        failPlaces(() -> LinkageErrors.exception(error));
        checkSettled();
    }

    private void end() {
        connection.stop();
        for (PendingCall call : List.copyOf(pendingCalls)) {
            call.onClientEnd();
            finish(call);
        }
    }

    private void failPlaces(Supplier<RuntimeException> failure) {
        // Behind a place that fails the next is asked for.
        while (!places.isEmpty()) {
            List.copyOf(places.values()).forEach(place -> place.fail(failure.get()));
        }
    }

    // ---- what the connection and its stream report

    void connected(SessionStream stream) {
        recovers(0); // The server says so in its replies.
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
        leases.all().forEach(HeldLease::streamBroken);
    }

    /** A server refuses the session itself. */
    void refused(Rejection rejection) {
        if (RejectionAction.of(rejection.reason()) == RejectionAction.THROW) {
            failPlaces(rejection::asException);
        }
    }

    /** @param renewed keep-alive whose renewals are confirmed; null when there is none of ours */
    void keepAliveAnswered(KeepAliveReply reply, KeepAlive.@Nullable Sent renewed) {
        recovers(reply.getRecoveringMillis());
        reply.getLostList().forEach(this::lost);
        if (renewed != null) {
            ClockReading now = loop.now();
            for (HeldLease lease : leases.all()) {
                lease.keptAlive(renewed.id(), renewed.at(), now);
            }
        }
    }

    /** @param seen the moment the event certainly came after; null when that cannot be told */
    void happened(Event event, @Nullable ClockReading seen) {
        switch (event.getEventCase()) {
            case OFFERED -> offered(event.getOffered(), seen);
            case LOST -> lost(event.getLost());
            case WAIT_ENDED -> {
                Place place = places.get(event.getWaitEnded().getRequestId());
                if (place != null) {
                    place.waitEnded(event.getWaitEnded().getEnd());
                }
            }
            case RELEASE_REQUESTED -> releaseRequested(event.getReleaseRequested());
            case EVENT_NOT_SET -> {
                // Of a newer server.
            }
        }
    }

    /** An answer nobody waits for. If it is a grant that nobody here has, it must not stay held. */
    void strayReply(Reply reply) {
        if (reply.hasAcquire() && reply.getAcquire().hasGranted()) {
            giveBackUnlessHeld(reply.getAcquire().getGranted());
        } else if (reply.hasAccept() && reply.getAccept().hasGranted()) {
            giveBackUnlessHeld(reply.getAccept().getGranted());
        }
    }

    /** An offer may overtake the answer to a repeated acquire: then this is the lease it made. */
    private void giveBackUnlessHeld(Granted granted) {
        if (!held(granted)) {
            giveBack(granted);
        }
    }

    private boolean held(Granted granted) {
        try {
            HeldLease lease = leases.get(ProtoMapper.grantId(granted.getGrantId()));
            return lease != null && lease.granted().token().value() == granted.getToken();
        } catch (RejectedException e) {
            return false;
        }
    }

    private void offered(OfferedEvent offer, @Nullable ClockReading seen) {
        Place place = places.get(offer.getRequestId());
        if (place != null) {
            place.offered(offer, seen);
        } else if (!held(
                offer.getGranted())) { // Told twice, it is not declined: that would end the lease it has become.
            leave(offer.getGranted().getLock(), offer.getRequestId());
        }
    }

    private void releaseRequested(ReleaseRequestedEvent event) {
        try {
            HeldLease lease = leases.get(ProtoMapper.grantId(event.getGrantId()));
            if (lease != null) {
                lease.releaseRequested(new Lease.ReleaseRequest(event.getBy(), event.getWhy()));
            }
        } catch (RejectedException e) {
            LOG.log(Level.WARNING, "the server asked for a malformed grant to be given up", e);
        }
    }

    private void lost(LostEvent event) {
        try {
            HeldLease lease = leases.get(ProtoMapper.grantId(event.getGrantId()));
            if (lease != null) {
                lease.lostAtServer(ProtoMapper.lostReason(event.getReason()), event.getDetail());
            }
        } catch (RejectedException e) {
            LOG.log(Level.WARNING, "the server reported the loss of a malformed grant", e);
        }
    }
}
