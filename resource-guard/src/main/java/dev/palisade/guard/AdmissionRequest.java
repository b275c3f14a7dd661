package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Request of one call to {@link AdmissionControl}, from its arrival to its end. Only {@link AdmissionControl}
 * changes it, under the lock of its user. It is read under the same lock, or after it was returned as settled.
 */
class AdmissionRequest {
    /** State of a call. */
    public enum State {
        /** The call waits until its mark is durable, or until older calls have ended. */
        WAITING,
        /** The call must not touch the resource: {@link AdmissionRequest#rejection()}. */
        REFUSED,
        /** Admitted, and not known to have ended. */
        RUNNING,
        /** Admitted, with an unknown outcome. Counts as running until its quarantine ends. */
        QUARANTINED,
        /** Known, or assumed, to have ended. */
        ENDED
    }

    private final Sequencer sequencer;
    private final Access access;
    private final long arrivedAtMillis;
    private State state = State.WAITING;
    private Mark requiredMark = Mark.NONE;
    private @Nullable Rejection rejection;
    private long quarantinedUntilNanos;
    private boolean stopRequested;
    private boolean callerGone;

    /**
     * The links of the list in {@link RunningCalls}. They need no nodes of their own, since a request is in one list
     * at most.
     */
    @Nullable
    AdmissionRequest previous;

    @Nullable
    AdmissionRequest next;

    /**
     * @param sequencer verified, and of the lock that the resource is bound to
     * @param arrivedAtMillis milliseconds since 1970; informational only, never compared
     */
    public AdmissionRequest(Sequencer sequencer, Access access, long arrivedAtMillis) {
        this.sequencer = sequencer;
        this.access = access;
        this.arrivedAtMillis = arrivedAtMillis;
    }

    public final Sequencer sequencer() {
        return sequencer;
    }

    public final State state() {
        return state;
    }

    /** The reason of the refusal; empty unless the state is {@link State#REFUSED}. */
    public final Optional<Rejection> rejection() {
        return state == State.REFUSED ? Optional.ofNullable(rejection) : Optional.empty();
    }

    final Access access() {
        return access;
    }

    final long arrivedAtMillis() {
        return arrivedAtMillis;
    }

    /** The mark that must be durable before this request is settled. */
    final Mark requiredMark() {
        return requiredMark;
    }

    final void requiredMark(Mark mark) {
        requiredMark = mark;
    }

    final void refuse(Rejection rejection) {
        this.rejection = rejection;
    }

    /** The reason of a refusal that takes effect once {@link #requiredMark} is durable. */
    final Optional<Rejection> pendingRejection() {
        return Optional.ofNullable(rejection);
    }

    /** Whether the request is refused, now or once {@link #requiredMark} is durable. */
    final boolean isRefused() {
        return rejection != null;
    }

    final void setState(State state) {
        this.state = state;
    }

    final void quarantine(long untilNanos) {
        state = State.QUARANTINED;
        quarantinedUntilNanos = untilNanos;
    }

    final void markCallerGone() {
        callerGone = true;
    }

    /** Whether the call may still write although its caller does not wait for its end. The caller may call again. */
    final boolean isOrphanedWrite() {
        return access == Access.WRITE && (callerGone || state == State.QUARANTINED);
    }

    final boolean isQuarantineOver(long nowNanos) {
        return state == State.QUARANTINED && quarantinedUntilNanos - nowNanos <= 0;
    }

    /** Returns whether this is the first stop request. */
    final boolean requestStop() {
        boolean first = !stopRequested;
        stopRequested = true;
        return first;
    }
}
