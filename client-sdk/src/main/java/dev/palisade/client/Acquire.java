package dev.palisade.client;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One acquire of a caller, from its call to its result, at its deadline at the latest. It waits in a
 * {@link PendingAcquire} at the server, in a {@link LocalWaitQueue}, or for the local hand-off of a lease. In the loop
 * only, except for the result.
 */
final class Acquire {
    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final long deadlineNanos;
    private final AcquireObserver observer;
    private final CompletableFuture<AcquireResult> result = new CompletableFuture<>();

    /** The request that it waits for; null before there is one, and while it waits for a hand-off. */
    @Nullable
    private PendingAcquire pending;

    @Nullable
    private GrantedLease lease;

    @Nullable
    private Claiming claiming;

    private TimerQueue.@Nullable ScheduledTask deadline;
    private boolean queued;
    /** Whether the server has replied to an earlier request that it waited for. */
    private boolean hasEarlierReply;

    Acquire(Session session, LockName lock, AcquireOptions options, AcquireObserver observer) {
        this.session = session;
        this.lock = lock;
        this.options = options;
        this.observer = observer;
        Duration limit = isTry() ? session.settings().callTimeout() : options.waitTime();
        this.deadlineNanos = session.loop().now().nanos() + limit.toNanos();
    }

    /** Completed exactly once: with a result, or with an exception for a bug or a closed client. */
    CompletableFuture<AcquireResult> result() {
        return result;
    }

    LockName lock() {
        return lock;
    }

    AcquireOptions options() {
        return options;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    private boolean isTry() {
        return options.waitTime().isZero();
    }

    /**
     * Whether it may share a lease by local hand-offs. A try needs a reply at once, a claim is for one grant, and a
     * minimum hold time also separates two holders of this client.
     */
    boolean allowsHandoff() {
        return options.mode() == Mode.EXCLUSIVE
                && !isTry()
                && options.claims().isEmpty()
                && options.lockAtLeastFor().isZero();
    }

    /** Whether it has a lease or a result. */
    boolean isOver() {
        return lease != null || result.isDone();
    }

    void begin() {
        RuntimeException ended = session.ended();
        if (ended != null) {
            completeExceptionally(ended);
            return;
        }
        if (options.waitTime().compareTo(AcquireOptions.WAIT_ENDLESS) < 0) {
            deadline = session.loop().scheduleAt(deadlineNanos, this::deadlinePassed);
        }
        session.waitQueues().add(this);
    }

    void dependOn(PendingAcquire request) {
        if (pending != null && pending != request) {
            hasEarlierReply |= pending.isReplied();
        }
        pending = request;
    }

    void waitForHandoff() {
        pending = null;
        hasEarlierReply = true;
        queued();
    }

    /** Records that it waits, in the server's queue or in the local one. */
    void queued() {
        if (!queued) {
            queued = true;
            observer.queued();
        }
    }

    void offered() {
        observer.offered();
    }

    String traceparent() {
        return observer.traceparent();
    }

    /** Ends an acquire whose caller gave up: leaves the queue, or releases the lease. */
    void abandon() {
        if (lease != null) {
            lease.releaseInLoop();
            if (claiming != null) {
                claiming.stop();
                complete(new AcquireResult.TimedOut());
            }
        } else {
            end(new AcquireResult.TimedOut());
        }
    }

    void clientClosed() {
        // The server may have granted the request, and may never receive its leave.
        end(new AcquireResult.Unavailable(new Rejection(
                Reason.STORE_UNAVAILABLE,
                "the client was closed during the acquire and holds nothing; a lease that the server granted meanwhile"
                        + " ends by itself within its ttl")));
    }

    void fail(RuntimeException failure) {
        close();
        completeExceptionally(failure);
    }

    void end(AcquireResult outcome) {
        close();
        complete(outcome);
    }

    private void complete(AcquireResult outcome) {
        if (!result.isDone()) {
            session.acquireEnded();
            observer.ended(outcome);
            result.complete(outcome);
        }
    }

    private void completeExceptionally(RuntimeException failure) {
        if (!result.isDone()) {
            session.acquireEnded();
            observer.failed(failure);
            result.completeExceptionally(failure);
        }
    }

    private void deadlinePassed() {
        end(pending == null ? new AcquireResult.TimedOut() : pending.resultAtDeadline(hasEarlierReply));
    }

    private void close() {
        session.loop().cancel(deadline);
        PendingAcquire waited = pending;
        pending = null;
        if (waited != null) {
            waited.remove(this);
            session.waitQueues().remove(this);
        }
    }

    // ---- being granted

    void granted(GrantedLease granted) {
        receive(granted);
        if (options.claims().isEmpty()) {
            completeGranted();
            return;
        }
        LeaseHandle handle = new LeaseHandle(granted);
        claiming = new Claiming(session, handle, options.claims(), failure -> claimed(handle, failure));
        claiming.begin(deadlineNanos - session.loop().now().nanos());
    }

    /** Takes the lease; {@link #completeGranted} follows. */
    void receive(GrantedLease granted) {
        lease = granted;
        pending = null;
        granted.observe(observer);
        session.loop().cancel(deadline);
    }

    /**
     * Completes the result with its lease. Not under the task lock of the loop, because that may run user code at once.
     */
    void completeGranted() {
        if (lease != null) {
            complete(new AcquireResult.Granted(new LeaseHandle(lease)));
        }
    }

    private void claimed(LeaseHandle granted, @Nullable Rejection failure) {
        if (failure == null) {
            complete(new AcquireResult.Granted(granted));
            return;
        }
        granted.lease().releaseInLoop();
        if (RejectionAction.of(failure.reason()) == RejectionAction.THROW) {
            completeExceptionally(failure.asException());
        } else {
            complete(new AcquireResult.Unavailable(failure));
        }
    }
}
