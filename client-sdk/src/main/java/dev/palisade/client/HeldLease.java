package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import io.grpc.ClientInterceptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A lease as its holder sees it: held, then released or lost, never back. Changes only in the loop; any thread may look.
 * What is said to the server about it is {@link Upkeep}'s.
 */
final class HeldLease implements Lease {
    private enum State {
        HELD,
        RELEASED,
        LOST
    }

    private final Session session;
    private final Grant grant;
    private final Upkeep upkeep;
    private final CompletableFuture<ReleaseOutcome> released = new CompletableFuture<>();
    private final List<Consumer<LostReason>> listeners = new ArrayList<>();
    private volatile State state = State.HELD;
    private volatile LeaseView view;

    @Nullable
    private volatile LostReason lost;

    private volatile String lostDetail = "";
    private final List<Consumer<RevokeAsked>> revokeListeners = new ArrayList<>();

    @Nullable
    private RevokeAsked lastAsked;

    private Timeline.@Nullable Entry deadline;

    private HeldLease(Session session, Grant grant, long requestId, LeaseView view) {
        this.session = session;
        this.grant = grant;
        this.view = view;
        this.upkeep = new Upkeep(session, this, grant, requestId);
    }

    /** In the loop: a lease the server has confirmed on the present stream. */
    static HeldLease ofGrant(Session session, Grant grant, long requestId, LeaseView view) {
        HeldLease lease = new HeldLease(session, grant, requestId, view);
        lease.upkeep.confirmedHere();
        lease.begin();
        return lease;
    }

    /** In the loop: an offer with enough left to be used before its accept, sent now, is answered. */
    static HeldLease ofOffer(Session session, Grant grant, long requestId, LeaseView view) {
        HeldLease lease = new HeldLease(session, grant, requestId, view);
        lease.begin();
        lease.upkeep.accept();
        return lease;
    }

    private void begin() {
        session.hold(this);
        deadline = session.loop().at(view.deadlineNanos(), this::deadlineDue);
    }

    // ---- the holder's side, any thread

    @Override
    public LockName lock() {
        return grant.lock();
    }

    @Override
    public FencingToken token() {
        return grant.token();
    }

    @Override
    public GrantId grant() {
        return grant.id();
    }

    @Override
    public Mode mode() {
        return grant.mode();
    }

    @Override
    public SignedSequencer sequencer() {
        return grant.sequencer();
    }

    long ttlMillis() {
        return grant.ttlMillis();
    }

    @Override
    public boolean isValid() {
        return leftNanos() > 0;
    }

    @Override
    public Duration validFor() {
        return Duration.ofNanos(leftNanos());
    }

    private long leftNanos() {
        if (state != State.HELD) {
            return 0;
        }
        long left = view.leftNanos(session.loop().now());
        if (left == 0) {
            session.loop().execute(() -> checkDeadline(session.loop().now()));
        }
        return left;
    }

    @Override
    public void ensure(Duration atLeast) {
        if (atLeast.toNanos() > new LeaseView(view.since(), grant.ttlMillis()).validNanos()) {
            throw RejectedException.malformed("ensure(" + atLeast + ") is more than a lease of " + grant.ttlMillis()
                    + " ms can promise; ask for less or acquire with a longer ttl");
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
            LostReason reason = lost;
            throw new LeaseLostException(lock(), token(), reason == null ? LostReason.SERVER_UNREACHABLE : reason);
        }
    }

    @Override
    public ReleaseOutcome release() {
        session.loop().execute(this::giveBack);
        return Waiting.uninterruptibly(released, session.settings().callTimeout(), ReleaseOutcome.UNKNOWN);
    }

    @Override
    public void close() {
        release();
    }

    @Override
    public void onLost(Consumer<LostReason> listener) {
        session.loop().execute(() -> {
            LostReason reason = lost;
            if (reason != null) {
                session.callbacks().run(() -> listener.accept(reason));
            } else if (state == State.HELD) {
                listeners.add(listener);
            }
        });
    }

    @Override
    public Optional<LostReason> lostReason() {
        return Optional.ofNullable(lost);
    }

    @Override
    public String lostDetail() {
        return lostDetail;
    }

    @Override
    public void onRevokeAsked(Consumer<RevokeAsked> listener) {
        session.loop().execute(() -> {
            if (held()) {
                revokeListeners.add(listener);
                RevokeAsked asked = lastAsked;
                if (asked != null) {
                    session.callbacks().run(() -> listener.accept(asked));
                }
            }
        });
    }

    @Override
    public ClientInterceptor interceptor() {
        return new SequencerInterceptor(grant.sequencer());
    }

    @Override
    public String toString() {
        return "Lease(" + lock() + " " + mode() + " token " + token() + " " + state + ")";
    }

    // ---- the client's side, in the loop

    boolean held() {
        return state == State.HELD;
    }

    /** Releases without waiting for the answer. */
    void giveBack() {
        if (held()) {
            end(State.RELEASED);
            upkeep.release();
        }
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
    void revokeAsked(RevokeAsked asked) {
        if (held()) {
            lastAsked = asked;
            for (Consumer<RevokeAsked> listener : revokeListeners) {
                session.callbacks().run(() -> listener.accept(asked));
            }
        }
    }

    /** The server said so, and renews it no more. */
    void lostAtServer(LostReason reason, String detail) {
        if (held()) {
            lostDetail = detail;
            lost = reason;
            end(State.LOST);
            upkeep.stop();
            tellLost(reason);
        }
    }

    /** Confirmed by a call other than a keep-alive. Never revives: expired is final. */
    void extend(LeaseView newer) {
        Moment now = session.loop().now();
        checkDeadline(now);
        if (held() && !newer.expired(now)) {
            view = view.later(newer);
        }
    }

    /** A keep-alive was answered and this lease was not among the lost. */
    void keptAlive(long keepAliveId, Moment sent, Moment now) {
        checkDeadline(now);
        if (held() && upkeep.confirmedBefore(keepAliveId)) {
            view = view.later(new LeaseView(sent, grant.ttlMillis()));
        }
    }

    void streamBroken() {
        upkeep.streamBroken();
    }

    void checkDeadline(Moment now) {
        if (held() && view.expired(now)) {
            lostAtServer(LostReason.SERVER_UNREACHABLE, "");
            session.renewConnection("the lease of " + lock() + " passed its local deadline");
        }
    }

    private void deadlineDue() {
        Moment now = session.loop().now();
        checkDeadline(now);
        if (held()) {
            deadline = session.loop().at(view.deadlineNanos(), this::deadlineDue);
        }
    }

    private void end(State last) {
        state = last;
        session.loop().cancel(deadline);
        session.drop(this);
        if (last == State.LOST) {
            released.complete(ReleaseOutcome.ALREADY_LOST);
        }
    }

    private void tellLost(LostReason reason) {
        for (Consumer<LostReason> listener : listeners) {
            session.callbacks().run(() -> listener.accept(reason));
        }
        listeners.clear();
    }
}
