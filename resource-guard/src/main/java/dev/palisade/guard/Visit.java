package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One call at one {@link Door}, from its arrival to its end. Only the door changes it, under the guard's lock; what it
 * says is read under the same lock, or after the door handed it out as settled.
 */
class Visit {
    /** Where a call stands. */
    public enum State {
        /** For its mark's durability, or for older calls to end. */
        WAITING,
        /** Must not touch the resource: {@link Visit#rejection()}. */
        REFUSED,
        /** Let in, and not known to have ended. */
        RUNNING,
        /** Let in, lost sight of, and taken for running until its time is over. */
        QUARANTINED,
        /** Known, or taken, to have ended. */
        ENDED
    }

    private final Sequencer sequencer;
    private final Access access;
    private final long arrivedAtMillis;
    private State state = State.WAITING;
    private Mark needs = Mark.NONE;
    private @Nullable Rejection rejection;
    private long quarantinedUntilNanos;
    private boolean askedToStop;
    private boolean callerGone;

    /** The neighbours among a door's {@link Occupants}: a list without nodes, since each call is in one list at most. */
    @Nullable
    Visit before;

    @Nullable
    Visit after;

    /**
     * @param sequencer verified, and of the lock that the door's resource is bound to
     * @param arrivedAtMillis milliseconds since 1970; for people, never compared
     */
    public Visit(Sequencer sequencer, Access access, long arrivedAtMillis) {
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

    /** Why it was refused; empty unless it is {@link State#REFUSED}. */
    public final Optional<Rejection> rejection() {
        return state == State.REFUSED ? Optional.ofNullable(rejection) : Optional.empty();
    }

    final Access access() {
        return access;
    }

    final long arrivedAtMillis() {
        return arrivedAtMillis;
    }

    /** The mark that must be durable before this visit is answered. */
    final Mark needs() {
        return needs;
    }

    final void needs(Mark mark) {
        needs = mark;
    }

    final void refuse(Rejection rejection) {
        this.rejection = rejection;
    }

    /** Why it will be refused, if so, once the mark it was judged by is durable. */
    final Optional<Rejection> found() {
        return Optional.ofNullable(rejection);
    }

    /** Whether it will be refused: it is told when the mark it was judged by is durable. */
    final boolean isRefused() {
        return rejection != null;
    }

    final void become(State state) {
        this.state = state;
    }

    final void quarantine(long untilNanos) {
        state = State.QUARANTINED;
        quarantinedUntilNanos = untilNanos;
    }

    final void forgetCaller() {
        callerGone = true;
    }

    /** Whether it may still write although its caller does not wait for its end: that one may call again. */
    final boolean isUnheardWrite() {
        return access == Access.WRITE && (callerGone || state == State.QUARANTINED);
    }

    final boolean isOverdue(long nowNanos) {
        return state == State.QUARANTINED && quarantinedUntilNanos - nowNanos <= 0;
    }

    /** Whether this is the first time that it is asked. */
    final boolean askToStop() {
        boolean first = !askedToStop;
        askedToStop = true;
        return first;
    }
}
