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
 * One grant, or one turn of a grant, as this client sees it: held, then released or lost, never back. When others of
 * this client wait for their turn, its release passes the lease on to the next of them, and nobody else is asked. Its
 * holders have {@link LeaseHandle}s of it, and the last of them that closes gives it back. Changes only in the loop,
 * but for the count of handles; any thread may look. What is said to the server about it is {@link Upkeep}'s.
 */
final class HeldLease {
    /** What has less left is not handed over; it might be lost before it can be used. */
    static final long LEFT_MIN_NANOS = 250_000_000;

    private enum State {
        HELD,
        RELEASED,
        LOST
    }

    private final Session session;
    private final Grant grant;
    private final Upkeep upkeep;
    private final int turn;
    /** Who holds the lease after this. */
    private final Deque<Acquire> next;
    /** Whether there is likely to be somebody. */
    private volatile boolean followed;

    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    /** Open ones; the first is the acquirer's. */
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

    private HeldLease(Session session, Grant grant, Grant.Asked asked, LeaseView view) {
        this.session = session;
        this.grant = grant;
        this.view = view;
        this.upkeep = new Upkeep(session, this, grant, asked);
        this.turn = 0;
        this.next = new ArrayDeque<>(0);
    }

    /** The turn after that of {@code before}. */
    private HeldLease(HeldLease before) {
        this.session = before.session;
        this.upkeep = before.upkeep;
        this.turn = before.turn + 1;
        this.grant = upkeep.grant().turn(turn);
        this.view = before.view;
        this.next = before.next;
    }

    /** In the loop: a lease the server has confirmed on the present stream. */
    static HeldLease ofGrant(Session session, Grant grant, Grant.Asked asked, LeaseView view) {
        HeldLease lease = new HeldLease(session, grant, asked, view);
        lease.upkeep.confirmedHere();
        lease.begin();
        return lease;
    }

    /** In the loop: an offer with enough left to be used before its accept, sent in a moment, is answered. */
    static HeldLease ofOffer(Session session, Grant grant, Grant.Asked asked, LeaseView view) {
        HeldLease lease = new HeldLease(session, grant, asked, view);
        lease.begin();
        lease.upkeep.accept();
        return lease;
    }

    private void begin() {
        session.hold(this);
        deadline = session.loop().scheduleAt(view.deadlineNanos(), this::deadlineDue);
    }

    /** In the loop, once: the first of {@code acquires} has it, and the others after him. */
    void holdInTurns(List<Acquire> acquires) {
        int turns = Math.min(acquires.size(), grant.turns().size() + 1);
        for (Acquire later : acquires.subList(1, turns)) {
            later.waitsForItsTurn();
            next.add(later);
        }
        followed = turns > 1;
        session.lines().rejoin(acquires.subList(turns, acquires.size()));
        acquires.get(0).granted(this);
    }

    /** In the loop: its end is reported to the observer of the acquire that it is for. */
    void observedBy(AcquireObserver ofAcquire) {
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

    // ---- the holders' side, any thread

    /** What the holder has. */
    Grant grant() {
        return grant;
    }

    /** What the server knows. */
    Grant granted() {
        return upkeep.grant();
    }

    /** Counts another handle; false when the last one is closed already. */
    boolean addHandle() {
        return handles.getAndUpdate(count -> count == 0 ? 0 : count + 1) > 0;
    }

    /** One handle less; true for the last. */
    boolean dropHandle() {
        return handles.decrementAndGet() == 0;
    }

    /** The handle is closed, and nothing is told to it any more. */
    void forget(LeaseHandle closed) {
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
            upkeep.renewNow(Math.min(left, session.settings().callTimeout().toNanos()));
        }
        left = leftNanos();
        if (left == 0 || left < atLeast.toNanos()) {
            throw lostException();
        }
    }

    /** That it does not hold for as long as somebody counted on. */
    LeaseLostException lostException() {
        return LeaseLostException.notHeld(grant.lock(), grant.token(), lossReason());
    }

    /** Why it was lost; of one that is not known to be lost, that nobody confirmed it. */
    LostReason lossReason() {
        LostReason reason = lost;
        return reason == null ? LostReason.SERVER_UNREACHABLE : reason;
    }

    /** On this thread, if it is the next one's turn: then he is woken from here. */
    private void beginRelease() {
        Acquire taker = followed ? session.loop().tryRun(this::passOn) : null;
        if (taker == null) {
            session.loop().execute(this::giveBack);
        } else {
            taker.tell();
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
     * @param where it is told: the callbacks, or at once in the loop for a listener of the client's own that is brief
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

    /** Where the user's code runs. */
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

    // ---- the client's side, in the loop

    boolean held() {
        return state == State.HELD;
    }

    /** Releases without waiting for the answer, or passes the lease on. */
    void giveBack() {
        checkDeadline(session.loop().now());
        Acquire taker = passOn();
        if (taker != null) {
            taker.tell();
        } else if (held()) {
            end(State.RELEASED);
            upkeep.release();
        }
    }

    /**
     * To the next, who is to be told, if the lease is certain to be held; else to nobody. He need not wait for the
     * server: it has signed every turn.
     */
    @Nullable
    private Acquire passOn() {
        while (!next.isEmpty() && next.element().isOver()) {
            next.remove();
        }
        ClockReading now = session.loop().now();
        if (!held() || next.isEmpty() || !upkeep.isCertain() || view.leftNanos(now) < LEFT_MIN_NANOS) {
            return null;
        }
        HeldLease successor = new HeldLease(this);
        Acquire taker = next.remove();
        state = State.RELEASED;
        session.loop().cancel(deadline);
        successor.followed = !next.isEmpty();
        successor.begin();
        upkeep.passedOn(this, successor);
        reportEnd();
        taker.takes(successor);
        return taker;
    }

    void releaseEnded(ReleaseOutcome outcome) {
        released.complete(outcome);
    }

    void clientClosed() {
        if (held()) {
            lost = LostReason.CLIENT_CLOSED;
            end(State.LOST);
            tellLost(LostReason.CLIENT_CLOSED);
            upkeep.release();
        }
    }

    /** Somebody asked the server, which only passes it on. */
    void releaseRequested(Lease.ReleaseRequest request) {
        if (held()) {
            lastRequest = request;
            requestListeners.forEach(listener -> listener.notify(request));
        }
    }

    /** The server said so, and renews it no more. */
    void lostAtServer(LostReason reason, String detail) {
        if (held()) {
            lostDetail = detail;
            lost = reason;
            end(State.LOST);
            upkeep.stop(reason);
            tellLost(reason);
        }
    }

    /** Confirmed by a call other than a keep-alive. Never revives: expired is final. */
    void extend(LeaseView newer) {
        ClockReading now = session.loop().now();
        checkDeadline(now);
        if (held() && !newer.expired(now)) {
            view = view.later(newer);
        }
    }

    /** A keep-alive was answered and this lease was not among the lost. */
    void keptAlive(long keepAliveId, ClockReading sent, ClockReading now) {
        checkDeadline(now);
        if (held() && upkeep.confirmedBefore(keepAliveId)) {
            view = view.later(new LeaseView(sent, grant.ttlMillis()));
        }
    }

    void streamBroken() {
        upkeep.streamBroken();
    }

    void checkDeadline(ClockReading now) {
        if (held() && view.expired(now)) {
            lostAtServer(LostReason.SERVER_UNREACHABLE, session.whyNotConnected());
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
        session.drop(this);
        reportEnd();
        session.lines().rejoin(List.copyOf(next));
        next.clear();
        if (last == State.LOST) {
            released.complete(ReleaseOutcome.ALREADY_LOST);
        }
    }

    private void tellLost(LostReason reason) {
        lossListeners.forEach(listener -> listener.notify(reason));
        lossListeners.clear();
    }
}
