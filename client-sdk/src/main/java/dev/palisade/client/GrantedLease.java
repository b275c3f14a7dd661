package dev.palisade.client;

import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LostReason;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The state machine of one granted lease in this client: held, then released or lost, never held again. A release hands
 * the lease off to the next local waiter, if there is one, without the server; that begins a new state machine for the
 * same grant. Code has {@link LeaseHandle}s of it; closing the last one releases it. State changes in the loop only,
 * except for the count of handles; any thread may read it. {@link LeaseProtocol} makes its calls to the server.
 */
final class GrantedLease {
    /**
     * Least remaining time for a hand-off or for the use of an offer: with less, the lease might be lost before its
     * use.
     */
    static final long LEFT_MIN_NANOS = 250_000_000;

    private enum State {
        HELD,
        RELEASED,
        LOST
    }

    private final Session session;
    private final Grant grant;
    private final LeaseProtocol protocol;
    /** Number of hand-offs of the grant before this holder. */
    private final int handoff;
    /** The local waiters that the lease is handed off to, in order. */
    private final Deque<Acquire> successors;
    /** Whether there probably is a successor; for any thread. */
    private volatile boolean hasSuccessors;

    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    /** Open handles; the first is that of the acquire. */
    private final AtomicInteger handles = new AtomicInteger(1);

    private final List<Listener<LostReason>> lossListeners = new ArrayList<>();
    private volatile State state = State.HELD;
    private volatile LeaseView view;

    @Nullable
    private volatile LostReason lost;

    private volatile String lostDetail = "";
    private final List<Listener<Lease.ReleaseRequest>> requestListeners = new ArrayList<>();

    private Lease.@Nullable ReleaseRequest lastRequest;

    private TimerQueue.@Nullable ScheduledTask deadline;
    private AcquireObserver observer = Observers.NONE;
    private long observedSinceNanos;

    private GrantedLease(Session session, Grant grant, Grant.RequestParams params, LeaseView view) {
        this.session = session;
        this.grant = grant;
        this.view = view;
        this.protocol = new LeaseProtocol(session, this, grant, params);
        this.handoff = 0;
        this.successors = new ArrayDeque<>(0);
    }

    /** The state after a local hand-off from {@code before}. */
    private GrantedLease(GrantedLease before) {
        this.session = before.session;
        this.protocol = before.protocol;
        this.handoff = before.handoff + 1;
        this.grant = protocol.grant().afterHandoff(handoff);
        this.view = before.view;
        this.successors = before.successors;
    }

    /** A lease that the server has confirmed on the present stream. In the loop. */
    static GrantedLease ofGrant(Session session, Grant grant, Grant.RequestParams params, LeaseView view) {
        GrantedLease lease = new GrantedLease(session, grant, params, view);
        lease.protocol.confirmedOnThisStream();
        lease.begin();
        return lease;
    }

    /** A lease of an offer. It is used before its accept has a reply; the accept is sent after 2 ms. In the loop. */
    static GrantedLease ofOffer(Session session, Grant grant, Grant.RequestParams params, LeaseView view) {
        GrantedLease lease = new GrantedLease(session, grant, params, view);
        lease.begin();
        lease.protocol.accept();
        return lease;
    }

    private void begin() {
        session.add(this);
        deadline = session.loop().scheduleAt(view.deadlineNanos(), this::deadlineDue);
    }

    /** Grants the lease to the first of {@code acquires}; the others are its successors. In the loop, once. */
    void grantTo(List<Acquire> acquires) {
        int holders = Math.min(acquires.size(), grant.handoffSequencers().size() + 1);
        for (Acquire later : acquires.subList(1, holders)) {
            later.waitForHandoff();
            successors.add(later);
        }
        hasSuccessors = holders > 1;
        session.waitQueues().putBack(acquires.subList(holders, acquires.size()));
        acquires.get(0).granted(this);
    }

    /** Sets the observer that is notified of the end. In the loop. */
    void observe(AcquireObserver ofAcquire) {
        if (ofAcquire != Observers.NONE) {
            observer = ofAcquire;
            observedSinceNanos = session.loop().now().nanos();
        }
    }

    private void reportEnd() {
        if (observer != Observers.NONE) {
            long held = session.loop().now().nanos() - observedSinceNanos;
            observer.leaseEnded(Duration.ofNanos(held), lostReason());
        }
    }

    // ---- for holders, on any thread

    /** The grant of this holder, with its own token and sequencer. */
    Grant grant() {
        return grant;
    }

    /** The grant that the server knows, which all its local holders share. */
    Grant granted() {
        return protocol.grant();
    }

    /** Adds a handle; false if the last one is closed. */
    boolean addHandle() {
        return handles.getAndUpdate(count -> count == 0 ? 0 : count + 1) > 0;
    }

    /** Removes a handle; true for the last one. */
    boolean dropHandle() {
        return handles.decrementAndGet() == 0;
    }

    /** Removes the listeners of a closed handle. */
    void removeListeners(LeaseHandle closed) {
        session.loop().execute(() -> {
            lossListeners.removeIf(listener -> listener.isOf(closed));
            requestListeners.removeIf(listener -> listener.isOf(closed));
        });
    }

    long leftNanos() {
        if (state != State.HELD) {
            return 0;
        }
        long left = view.leftNanos(session.loop().now());
        if (left == 0) {
            session.loop().execute(() -> checkDeadline(session.loop().now()));
        }
        return left;
    }

    void ensureValidFor(Duration atLeast) throws InterruptedException {
        BlockingWait.checkInterrupt();
        if (atLeast.toNanos() > new LeaseView(view.since(), grant.ttlMillis()).validNanos()) {
            throw new IllegalArgumentException("ensureValidFor(" + atLeast + ") is more than a lease of "
                    + grant.ttlMillis() + " ms can promise; ask for less or acquire with a longer ttl");
        }
        long left = leftNanos();
        if (left >= atLeast.toNanos() && left > 0) {
            return;
        }
        if (left > 0) {
            protocol.renewNow(Math.min(left, session.settings().callTimeout().toNanos()));
        }
        left = leftNanos();
        if (left == 0 || left < atLeast.toNanos()) {
            throw lostException();
        }
    }

    /** The exception for a lease that does not last as long as required. */
    LeaseLostException lostException() {
        return LeaseLostException.notHeld(grant.lock(), grant.token(), lossReason());
    }

    /** Why it was lost; SERVER_UNREACHABLE if it is not known to be lost. */
    LostReason lossReason() {
        LostReason reason = lost;
        return reason == null ? LostReason.SERVER_UNREACHABLE : reason;
    }

    /** Hands the lease off on this thread, which completes the next acquire; else the loop releases it. */
    private void beginRelease() {
        Acquire successor = hasSuccessors ? session.loop().tryRun(this::handOff) : null;
        if (successor == null) {
            session.loop().execute(this::releaseInLoop);
        } else {
            successor.completeGranted();
        }
    }

    ReleaseOutcome release() {
        beginRelease();
        return session.blockingWait()
                .uninterruptibly(released, session.settings().callTimeout(), ReleaseOutcome.UNKNOWN);
    }

    CompletableFuture<ReleaseOutcome> releaseAsync() {
        beginRelease();
        CompletableFuture<ReleaseOutcome> forUser = new ClientFuture<>(session.callbacks(), session.blockingWait());
        var unused = released.thenAccept(outcome -> session.callbacks().run(() -> forUser.complete(outcome)));
        return forUser;
    }

    /**
     * @param where the executor of callbacks; for a brief listener of the client itself, a direct executor in the loop
     */
    Registration onLost(LeaseHandle handle, Executor where, Consumer<LostReason> notified) {
        Listener<LostReason> listener = new Listener<>(handle, where, notified);
        session.loop().execute(() -> {
            LostReason reason = lost;
            if (reason != null) {
                listener.notify(reason);
            } else if (held() && listener.listens()) {
                lossListeners.add(listener);
            }
        });
        return registration(listener, lossListeners);
    }

    private <T> Registration registration(Listener<T> listener, List<Listener<T>> listeners) {
        return () -> {
            listener.close();
            session.loop().execute(() -> listeners.remove(listener));
        };
    }

    /** The executor of user code. */
    Executor callbacks() {
        return session.callbacks()::run;
    }

    Optional<LostReason> lostReason() {
        return Optional.ofNullable(lost);
    }

    String lostDetail() {
        return lostDetail;
    }

    Registration onReleaseRequested(LeaseHandle handle, Consumer<Lease.ReleaseRequest> notified) {
        Listener<Lease.ReleaseRequest> listener = new Listener<>(handle, callbacks(), notified);
        session.loop().execute(() -> {
            if (held() && listener.listens()) {
                requestListeners.add(listener);
                Lease.ReleaseRequest request = lastRequest;
                if (request != null) {
                    listener.notify(request);
                }
            }
        });
        return registration(listener, requestListeners);
    }

    @Override
    public String toString() {
        return "Lease(" + grant.lock() + " " + grant.mode() + " token " + grant.token() + " " + state + ")";
    }

    // ---- for the client, in the loop

    boolean held() {
        return state == State.HELD;
    }

    /** Releases the lease without waiting for the reply, or hands it off. */
    void releaseInLoop() {
        checkDeadline(session.loop().now());
        Acquire successor = handOff();
        if (successor != null) {
            successor.completeGranted();
        } else if (held()) {
            end(State.RELEASED);
            protocol.release();
        }
    }

    /**
     * Hands the lease off to the next acquire, if it is certainly held. It needs no call to the server, which has
     * signed a sequencer for each hand-off.
     *
     * @return the acquire, whose result the caller completes; null if the lease was not handed off
     */
    @Nullable
    private Acquire handOff() {
        while (!successors.isEmpty() && successors.element().isOver()) {
            successors.remove();
        }
        ClockReading now = session.loop().now();
        if (!held() || successors.isEmpty() || !protocol.isCertain() || view.leftNanos(now) < LEFT_MIN_NANOS) {
            return null;
        }
        GrantedLease handedOff = new GrantedLease(this);
        Acquire successor = successors.remove();
        state = State.RELEASED;
        session.loop().cancel(deadline);
        handedOff.hasSuccessors = !successors.isEmpty();
        handedOff.begin();
        protocol.handedOff(this, handedOff);
        reportEnd();
        successor.receive(handedOff);
        return successor;
    }

    void completeRelease(ReleaseOutcome outcome) {
        released.complete(outcome);
    }

    void clientClosed() {
        if (held()) {
            lost = LostReason.CLIENT_CLOSED;
            end(State.LOST);
            notifyLost(LostReason.CLIENT_CLOSED);
            protocol.release();
        }
    }

    /** Handles a request for release, which the server forwards. */
    void releaseRequested(Lease.ReleaseRequest request) {
        if (held()) {
            lastRequest = request;
            requestListeners.forEach(listener -> listener.notify(request));
        }
    }

    /** Ends the lease as lost: the server reported it, or the local deadline has passed. */
    void markLost(LostReason reason, String detail) {
        if (held()) {
            lostDetail = detail;
            lost = reason;
            end(State.LOST);
            protocol.stop(reason);
            notifyLost(reason);
        }
    }

    /** Extends the lease after a call other than a keep-alive confirmed it. An expired lease stays expired. */
    void extend(LeaseView newer) {
        ClockReading now = session.loop().now();
        checkDeadline(now);
        if (held() && !newer.expired(now)) {
            view = view.later(newer);
        }
    }

    /** Extends the lease after a reply to a keep-alive that did not report it as lost. */
    void keptAlive(long keepAliveId, ClockReading sent, ClockReading now) {
        checkDeadline(now);
        if (held() && protocol.confirmedBefore(keepAliveId)) {
            view = view.later(new LeaseView(sent, grant.ttlMillis()));
        }
    }

    void streamBroken() {
        protocol.streamBroken();
    }

    void checkDeadline(ClockReading now) {
        if (held() && view.expired(now)) {
            markLost(LostReason.SERVER_UNREACHABLE, session.whyNotConfirmed());
            session.renewConnection("the lease of " + grant.lock() + " passed its local deadline");
        }
    }

    private void deadlineDue() {
        ClockReading now = session.loop().now();
        checkDeadline(now);
        if (held()) {
            deadline = session.loop().scheduleAt(view.deadlineNanos(), this::deadlineDue);
        }
    }

    private void end(State last) {
        state = last;
        session.loop().cancel(deadline);
        session.remove(this);
        reportEnd();
        session.waitQueues().putBack(List.copyOf(successors));
        successors.clear();
        if (last == State.LOST) {
            released.complete(ReleaseOutcome.ALREADY_LOST);
        }
    }

    private void notifyLost(LostReason reason) {
        lossListeners.forEach(listener -> listener.notify(reason));
        lossListeners.clear();
    }
}
