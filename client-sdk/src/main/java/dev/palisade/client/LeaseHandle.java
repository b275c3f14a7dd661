package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Mode;
import dev.palisade.contract.SignedSequencer;
import io.grpc.ClientInterceptor;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A handle of a granted lease: open until it is closed, and unusable from then on, also while the lease has other
 * handles. It never decides whether the lease is valid: {@link GrantedLease} does. Safe for use by many threads.
 */
final class LeaseHandle implements Lease {
    private enum State {
        OPEN,
        /** Closed while the lease had other open handles. */
        CLOSED,
        /** Closed as the last handle, which releases the lease. */
        RELEASED,
        /** Closed after the lease was lost. */
        LOST
    }

    private final GrantedLease lease;
    private volatile State state = State.OPEN;

    LeaseHandle(GrantedLease lease) {
        this.lease = lease;
    }

    GrantedLease lease() {
        return lease;
    }

    boolean open() {
        return state == State.OPEN;
    }

    @Override
    public LockName lock() {
        return lease.grant().lock();
    }

    @Override
    public FencingToken token() {
        return lease.grant().token();
    }

    @Override
    public GrantId grant() {
        return lease.grant().id();
    }

    @Override
    public Mode mode() {
        return lease.grant().mode();
    }

    @Override
    public SignedSequencer sequencer() {
        return lease.grant().sequencer();
    }

    @Override
    public boolean isValid() {
        return open() && lease.leftNanos() > 0;
    }

    @Override
    public Duration validFor() {
        return open() ? Duration.ofNanos(lease.leftNanos()) : Duration.ZERO;
    }

    @Override
    public void ensureValidFor(Duration atLeast) throws InterruptedException {
        if (atLeast.isNegative()) {
            throw new IllegalArgumentException("ensureValidFor(" + atLeast + ") is negative; ask for zero or more");
        }
        requireOpen();
        lease.ensureValidFor(atLeast);
    }

    @Override
    public LeaseHandle reenter() {
        requireOpen();
        if (lease.leftNanos() == 0) {
            throw lease.lostException();
        }
        if (!lease.addHandle()) {
            throw closedException();
        }
        return new LeaseHandle(lease);
    }

    @Override
    public ReleaseOutcome release() {
        State now = closed();
        return now == State.RELEASED ? lease.release() : withoutRelease(now);
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        State now = closed();
        return now == State.RELEASED ? lease.releaseAsync() : CompletableFuture.completedFuture(withoutRelease(now));
    }

    private static ReleaseOutcome withoutRelease(State closed) {
        return closed == State.LOST ? ReleaseOutcome.ALREADY_LOST : ReleaseOutcome.STILL_HELD;
    }

    private State closed() {
        boolean wasOpen = open();
        // Checks the deadline. Outside the monitor, because the check may run a task of the loop.
        long unused = wasOpen ? lease.leftNanos() : 0;
        State now = closing();
        if (wasOpen && now != State.RELEASED) {
            lease.removeListeners(this);
        }
        return now;
    }

    /** Closes the handle. Returns why the lease did not cover the work until now; null if it did. */
    @Nullable
    LostReason end() {
        return release() == ReleaseOutcome.ALREADY_LOST ? lease.lossReason() : null;
    }

    /** Closes the handle; of several threads that do so, one has an effect. */
    private synchronized State closing() {
        if (open()) {
            boolean lost = lease.lostReason().isPresent();
            state = lease.dropHandle() ? State.RELEASED : lost ? State.LOST : State.CLOSED;
        }
        return state;
    }

    @Override
    public void close() {
        release();
    }

    @Override
    public Registration onLost(Consumer<LostReason> listener) {
        return lease.onLost(this, lease.callbacks(), listener);
    }

    @Override
    public Optional<LostReason> lostReason() {
        return state == State.CLOSED ? Optional.empty() : lease.lostReason();
    }

    @Override
    public String lostDetail() {
        return state == State.CLOSED ? "" : lease.lostDetail();
    }

    @Override
    public Registration onReleaseRequested(Consumer<ReleaseRequest> listener) {
        return lease.onReleaseRequested(this, listener);
    }

    @Override
    public ClientInterceptor interceptor() {
        return new SequencerInterceptor(sequencer());
    }

    @Override
    public String toString() {
        return lease + (open() ? "" : " closed here");
    }

    private void requireOpen() {
        if (!open() && lease.lostReason().isEmpty()) {
            throw closedException();
        }
    }

    private IllegalStateException closedException() {
        return new IllegalStateException(
                "this handle of the lease of " + lock() + " (token " + token() + ") is closed; acquire again");
    }
}
