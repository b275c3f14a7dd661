package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.Visit.State;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The way into one resource: who runs, who waits, and the mark (protocol, the guard, tier 2). Calls of conflicting grants
 * never run side by side, and none starts under a mark that a crash could take back.
 *
 * <p>Each call passes the same steps, equal ones too: compared and the mark raised in memory; wait until that mark is
 * durable; compared once more; wait until no call of a conflicting grant runs or is quarantined; start. Waiting calls stand
 * in nobody's way.
 *
 * <p>Not safe for threads: the guard calls it under one lock. It knows no clock and saves nothing itself: time comes as an
 * argument (nanoseconds on one monotonic clock), {@link #mark()} is for the guard to save and to report by {@link #saved}.
 */
class Door {
    private final String resource;
    private final Set<Visit> waiting = new LinkedHashSet<>();
    private final Occupants occupants = new Occupants();
    private final List<Visit> settled = new ArrayList<>();
    private final List<Visit> superseded = new ArrayList<>();
    private long closedUntilNanos;
    private Mark mark;
    private Mark saved;
    private long raisedAtMillis;
    private boolean closed;

    /**
     * @param saved the durable mark
     * @param raisedAtMillis when it was raised, milliseconds since 1970, for people; 0: not known
     * @param nowNanos the present
     * @param closedUntilNanos nobody starts before: calls that an earlier process let in may still be running
     */
    public Door(String resource, Mark saved, long raisedAtMillis, long nowNanos, long closedUntilNanos) {
        this.resource = resource;
        this.mark = saved;
        this.saved = saved;
        this.raisedAtMillis = raisedAtMillis;
        this.closedUntilNanos = closedUntilNanos;
        this.closed = closedUntilNanos - nowNanos > 0;
    }

    /** The mark in memory; the highest that was raised here. */
    public Mark mark() {
        return mark;
    }

    /** When {@link #mark()} was raised, milliseconds since 1970; 0: not known. */
    public long raisedAtMillis() {
        return raisedAtMillis;
    }

    /** Whether {@link #mark()} is not known to be durable yet. */
    public boolean mustSave() {
        return !saved.covers(mark);
    }

    /** A new call. It waits, runs or is refused afterwards; the mark may have been raised. */
    public void arrive(Visit visit, long nowNanos) {
        compare(visit);
        waiting.add(visit);
        if (closed) {
            pump(nowNanos);
        } else {
            advance(visit); // Alone: an arrival lets nobody else in, and whom it refuses waits for its mark first.
        }
    }

    /** {@code mark} is durable now. */
    public void saved(Mark mark, long nowNanos) {
        if (mark.covers(saved)) {
            saved = mark;
        }
        pump(nowNanos);
    }

    /** No mark can be made durable any more: whoever waits for that is refused. */
    public void cannotSave(long nowNanos) {
        for (Visit visit : List.copyOf(waiting)) {
            if (!isSaved(visit)) {
                visit.refuse(unsaved(visit));
                settle(visit, State.REFUSED);
            }
        }
        pump(nowNanos);
    }

    /** The caller waits no longer. Does nothing unless the visit waits. The mark stays raised. */
    public void giveUp(Visit visit, long nowNanos) {
        if (visit.state() == State.WAITING) {
            visit.refuse(isSaved(visit) ? draining(visit, nowNanos) : unsaved(visit));
            settle(visit, State.REFUSED);
        }
    }

    /** The call is known to have ended: it neither runs nor can anything it started still reach the resource. */
    public void ended(Visit visit, long nowNanos) {
        if (visit.state() == State.RUNNING || visit.state() == State.QUARANTINED) {
            leave(visit, nowNanos);
        }
    }

    /**
     * Whether the running call still goes on cannot be told; from {@code untilNanos} on it counts as ended. Until then a write
     * keeps later calls of its own grant out too.
     */
    public void outcomeUnknown(Visit visit, long untilNanos) {
        if (visit.state() == State.RUNNING) {
            occupants.lose(visit, untilNanos);
        }
    }

    /** The caller waits for the end of the running call no longer; a write keeps later calls of its own grant out from now on. */
    public void callerGone(Visit visit) {
        if (visit.state() == State.RUNNING) {
            occupants.callerGone(visit);
        }
    }

    /** Time has passed: quarantines may be over. */
    public void pass(long nowNanos) {
        closed = closed && closedUntilNanos - nowNanos > 0;
        for (Visit visit : occupants.overdue(nowNanos)) {
            leave(visit, nowNanos);
        }
        pump(nowNanos);
    }

    /**
     * Refuses every token up to {@code token} from now on, also of calls that wait, and starts nobody before {@code
     * closedUntilNanos}: another guard may have admitted newer grants. Calls that run go on until they end.
     */
    public void raiseTo(long token, long closedUntilNanos, long nowMillis, long nowNanos) {
        Mark raised = mark.raisedTo(token);
        if (!raised.equals(mark)) {
            mark = raised;
            raisedAtMillis = nowMillis;
        }
        this.closedUntilNanos = closedUntilNanos;
        closed = closedUntilNanos - nowNanos > 0;
        pump(nowNanos);
    }

    /** Every call that runs is asked to stop: the guard may not admit calls any more. See {@link #takeSuperseded}. */
    public void stopAll() {
        occupants.askAllToStop(superseded);
    }

    /** Visits whose waiting ended since this was asked last: each is RUNNING or REFUSED, and is to be told once. */
    public List<Visit> takeSettled() {
        return take(settled);
    }

    /** Visits that a newer grant waits for since this was asked last: what runs of them is asked to stop. */
    public List<Visit> takeSuperseded() {
        return take(superseded);
    }

    /**
     * Compares and raises as {@link #arrive} does, for a guard that only observes: the call neither waits nor runs here.
     *
     * @return why it would be refused
     */
    public Optional<Rejection> observe(Visit visit) {
        compare(visit);
        return visit.found();
    }

    /** Whether nobody waits, runs or is quarantined. */
    public boolean isIdle() {
        return waiting.isEmpty() && occupants.isEmpty();
    }

    /**
     * The short way for the common case, a call of the grant that is in already: starts it at once, or does nothing and
     * says no.
     */
    public boolean startAtOnce(Visit visit) {
        if (closed
                || !waiting.isEmpty()
                || !saved.covers(mark)
                || !mark.admitsAsItIs(visit.sequencer(), visit.access())
                || isBlocked(visit)) {
            return false;
        }
        visit.become(State.RUNNING);
        occupants.add(visit);
        return true;
    }

    /** Who waits, in order: for tests, which tell two doors apart by it. */
    List<Visit> waiting() {
        return List.copyOf(waiting);
    }

    // The rules, one method each. Not private: a test plants the known bugs by overriding them and must find each.

    /** The first comparison, with the mark in memory, which it raises. */
    void compare(Visit visit) {
        if (judge(visit) instanceof Verdict.Admitted admitted && admitted.raised()) {
            raise(admitted.next(), visit);
        }
        visit.needs(mark);
    }

    void raise(Mark next, Visit by) {
        mark = next;
        raisedAtMillis = by.arrivedAtMillis();
    }

    /** Whether the mark that this visit was compared with is durable. */
    boolean isSaved(Visit visit) {
        return saved.covers(visit.needs());
    }

    /** The second comparison: somebody may have passed while the mark of the first one was on its way to the disk. */
    void compareAgain(Visit visit) {
        if (!visit.isRefused() && judge(visit) instanceof Verdict.Refused) {
            visit.needs(mark);
        }
    }

    /** Whether a call of a conflicting grant runs or is quarantined. */
    boolean isBlocked(Visit visit) {
        return closed || occupants.conflictWith(visit);
    }

    private void pump(long nowNanos) {
        closed = closed && closedUntilNanos - nowNanos > 0;
        for (Visit visit : List.copyOf(waiting)) {
            advance(visit);
        }
    }

    private void advance(Visit visit) {
        if (!isSaved(visit)) {
            return;
        }
        compareAgain(visit);
        if (!isSaved(visit)) {
            return;
        }
        if (visit.isRefused()) {
            settle(visit, State.REFUSED);
        } else if (!isBlocked(visit)) {
            settle(visit, State.RUNNING);
            occupants.add(visit);
        } else {
            occupants.askToStop(visit, superseded);
        }
    }

    private Verdict judge(Visit visit) {
        Verdict verdict = mark.judge(resource, visit.sequencer(), visit.access());
        if (verdict instanceof Verdict.Refused refused) {
            Rejection why = refused.rejection();
            visit.refuse(
                    raisedAtMillis == 0
                            ? why
                            : why.with(Rejection.SUPERSEDED_AT_MILLIS, Long.toString(raisedAtMillis)));
        }
        return verdict;
    }

    private void settle(Visit visit, State state) {
        waiting.remove(visit);
        visit.become(state);
        settled.add(visit);
    }

    private void leave(Visit visit, long nowNanos) {
        boolean makesRoom = occupants.remove(visit);
        visit.become(State.ENDED);
        if (makesRoom) {
            pump(nowNanos);
        }
    }

    private Rejection draining(Visit visit, long nowNanos) {
        long closedMillis = closed ? Math.max(1, (closedUntilNanos - nowNanos) / 1_000_000) : 0;
        String why = closed
                ? "this guard has just started or raised its marks, and calls that an earlier one let in to '"
                        + resource + "' may be running for another " + closedMillis + " ms"
                : "calls of " + occupants + " on '" + resource + "' have not ended yet";
        Rejection rejection = new Rejection(
                Reason.DRAINING,
                why + "; token " + visit.sequencer().token() + " keeps its mark, nothing was applied: try again",
                Verdict.metadata(resource, visit.sequencer()));
        return closed ? rejection.with(Rejection.RETRY_AFTER_MILLIS, Long.toString(closedMillis)) : rejection;
    }

    private Rejection unsaved(Visit visit) {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' could not be made durable; nothing was applied",
                Verdict.metadata(resource, visit.sequencer()));
    }

    private static List<Visit> take(List<Visit> from) {
        if (from.isEmpty()) {
            return List.of();
        }
        List<Visit> taken = List.copyOf(from);
        from.clear();
        return taken;
    }
}
