package dev.palisade.client;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One acquire from its call to its result, over at its deadline whatever happens: it waits in a {@link Place}, in this
 * client's {@link Line} behind one, or for its turn of a lease. In the loop only, but for the result.
 */
final class Acquire {
    private final Session session;
    private final LockName lock;
    private final AcquireOptions options;
    private final long deadlineNanos;
    private final AcquireObserver observer;
    private final CompletableFuture<AcquireResult> result = new CompletableFuture<>();

    /** Which the wait depends on; null before it is asked, and when it waits for its turn. */
    @Nullable
    private Place place;

    @Nullable
    private GrantedLease lease;

    @Nullable
    private Claiming claiming;

    private TimerQueue.@Nullable ScheduledTask deadline;
    private boolean queued;
    /** Whether the server has replied to an earlier request that this one depended on. */
    private boolean hasEarlierReply;

    Acquire(Session session, LockName lock, AcquireOptions options, AcquireObserver observer) {
        this.session = session;
        this.lock = lock;
        this.options = options;
        this.observer = observer;
        Duration limit = isTry() ? session.settings().callTimeout() : options.waitTime();
        this.deadlineNanos = session.loop().now().nanos() + limit.toNanos();
    }

    /** Done exactly once, by a result, or by an exception for a bug or a closed client. */
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
     * Whether it may hold a lease of another's asking. A try wants an answer now, what is claimed is claimed for one
     * grant, and a minimum hold time lies between two holders of this client, too.
     */
    boolean takesTurns() {
        return options.mode() == Mode.EXCLUSIVE
                && !isTry()
                && options.claims().isEmpty()
                && options.lockAtLeastFor().isZero();
    }

    /** Nothing to wait for any more. */
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
        session.lines().join(this);
    }

    void waitsAt(Place where) {
        if (place != null && place != where) {
            hasEarlierReply |= place.isReplied();
        }
        place = where;
    }

    void waitsForItsTurn() {
        place = null;
        hasEarlierReply = true;
        queued();
    }

    /** It has to wait, at the server or behind another of this client. */
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

    /** Nobody wants the result any more: leaves the queue, or releases what was granted. */
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
        end(place == null ? new AcquireResult.TimedOut() : place.resultAtDeadline(hasEarlierReply));
    }

    private void close() {
        session.loop().cancel(deadline);
        Place waited = place;
        place = null;
        if (waited != null) {
            waited.left(this);
            session.lines().left(this);
        }
    }

    // ---- being granted

    void granted(GrantedLease granted) {
        takes(granted);
        if (options.claims().isEmpty()) {
            tell();
            return;
        }
        LeaseHandle handle = new LeaseHandle(granted);
        claiming = new Claiming(session, handle, options.claims(), failure -> claimed(handle, failure));
        claiming.begin(deadlineNanos - session.loop().now().nanos());
    }

    /** Has it from now on; {@link #tell} is next. */
    void takes(GrantedLease granted) {
        lease = granted;
        place = null;
        granted.observe(observer);
        session.loop().cancel(deadline);
    }

    /** That it has what it took. Not between two tasks of the loop: who is told may run the user's code at once. */
    void tell() {
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
