package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.AdmissionRequest.State;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Admission control of one resource: its running calls, its waiting calls and its mark (protocol, the guard, tier
 * 2). Calls of conflicting grants never run at the same time. No call starts under a mark that a crash could take
 * back.
 *
 * <p>Each call passes the same steps, in this order: it is compared, and the mark is raised in memory. It waits
 * until that mark is durable and is compared once more. It waits until no call of a conflicting grant runs or is
 * quarantined, and starts. Waiting calls block no other call.
 *
 * <p>Not thread-safe: {@link LocalGate} calls it under a lock. It reads no clock and saves nothing. Time is an
 * argument, in nanoseconds on one monotonic clock. {@link LocalGate} saves {@link #mark()} and reports that by {@link
 * #markSaved}.
 */
class AdmissionControl {
    private final String resource;
    private final Set<AdmissionRequest> waiting = new LinkedHashSet<>();
    private final RunningCalls running = new RunningCalls();
    private final List<AdmissionRequest> settled = new ArrayList<>();
    private final List<AdmissionRequest> superseded = new ArrayList<>();
    private long closedUntilNanos;
    private Mark mark;
    private Mark saved;
    private long raisedAtMillis;
    private boolean closed;

    /**
     * @param saved the durable mark
     * @param raisedAtMillis when it was raised, milliseconds since 1970, informational only; 0: not known
     * @param nowNanos the present
     * @param closedUntilNanos no call starts before: calls that an earlier process admitted may still be running
     */
    public AdmissionControl(String resource, Mark saved, long raisedAtMillis, long nowNanos, long closedUntilNanos) {
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

    /** Adds a new call, which waits, runs or is refused afterwards. May raise the mark. */
    public void arrive(AdmissionRequest request, long nowNanos) {
        compare(request);
        waiting.add(request);
        if (closed) {
            admitWaiting(nowNanos);
        } else {
            tryAdmit(
                    request); // Of this call only: an arrival admits no other call, and refuses none before its mark is
            // durable.
        }
    }

    /** {@code mark} is durable now. */
    public void markSaved(Mark mark, long nowNanos) {
        if (mark.covers(saved)) {
            saved = mark;
        }
        admitWaiting(nowNanos);
    }

    /** Marks can no longer be made durable. Refuses the calls that wait for that. */
    public void saveFailed(long nowNanos) {
        for (AdmissionRequest request : List.copyOf(waiting)) {
            if (!isSaved(request)) {
                request.refuse(unsaved(request));
                settle(request, State.REFUSED);
            }
        }
        admitWaiting(nowNanos);
    }

    /** Refuses the call if it still waits, because its caller waits no longer. The mark stays raised. */
    public void abandon(AdmissionRequest request, long nowNanos) {
        if (request.state() == State.WAITING) {
            request.refuse(isSaved(request) ? draining(request, nowNanos) : unsaved(request));
            settle(request, State.REFUSED);
        }
    }

    /** The call is known to have ended: neither it nor any work that it started can reach the resource any more. */
    public void ended(AdmissionRequest request, long nowNanos) {
        if (request.state() == State.RUNNING || request.state() == State.QUARANTINED) {
            remove(request, nowNanos);
        }
    }

    /**
     * The end of the running call is unknown. The call counts as ended from {@code untilNanos} on. Until then a
     * write also blocks later calls of its own grant.
     */
    public void outcomeUnknown(AdmissionRequest request, long untilNanos) {
        if (request.state() == State.RUNNING) {
            running.quarantine(request, untilNanos);
        }
    }

    /**
     * The caller no longer waits for the end of the running call. A write blocks later calls of its own grant from
     * now on.
     */
    public void callerGone(AdmissionRequest request) {
        if (request.state() == State.RUNNING) {
            running.callerGone(request);
        }
    }

    /** Ends quarantines and the closed period that are over at {@code nowNanos}. */
    public void advanceTime(long nowNanos) {
        closed = closed && closedUntilNanos - nowNanos > 0;
        for (AdmissionRequest request : running.endedQuarantines(nowNanos)) {
            remove(request, nowNanos);
        }
        admitWaiting(nowNanos);
    }

    /**
     * Refuses every token up to {@code token} from now on, including waiting calls, and starts no call before {@code
     * closedUntilNanos}: another guard may have admitted newer grants. Running calls continue until they end.
     */
    public void raiseTo(long token, long closedUntilNanos, long nowMillis, long nowNanos) {
        Mark raised = mark.raisedTo(token);
        if (!raised.equals(mark)) {
            mark = raised;
            raisedAtMillis = nowMillis;
        }
        this.closedUntilNanos = closedUntilNanos;
        closed = closedUntilNanos - nowNanos > 0;
        admitWaiting(nowNanos);
    }

    /**
     * Requests every running call to stop, because the guard may no longer admit calls. See {@link #takeSuperseded}.
     */
    public void stopAll() {
        running.requestStopOfAll(superseded);
    }

    /**
     * Returns the requests that stopped waiting since the previous call. Each is RUNNING or REFUSED, and is returned
     * once.
     */
    public List<AdmissionRequest> takeSettled() {
        return take(settled);
    }

    /**
     * Returns the requests that were first blocking a newer grant since the previous call. The running calls among
     * them are requested to stop.
     */
    public List<AdmissionRequest> takeSuperseded() {
        return take(superseded);
    }

    /**
     * Compares and raises as {@link #arrive} does, for a guard that only observes: the call neither waits nor runs
     * here.
     *
     * @return why the call would be refused
     */
    public Optional<Rejection> observe(AdmissionRequest request) {
        compare(request);
        return request.pendingRejection();
    }

    /** Whether no call waits, runs or is quarantined. */
    public boolean isIdle() {
        return waiting.isEmpty() && running.isEmpty();
    }

    /**
     * Fast path for a further call of the grant that runs already: starts it at once, or changes nothing and returns
     * false.
     */
    public boolean tryStart(AdmissionRequest request) {
        if (closed
                || !waiting.isEmpty()
                || !saved.covers(mark)
                || !mark.admitsAsItIs(request.sequencer(), request.access())
                || isBlocked(request)) {
            return false;
        }
        request.setState(State.RUNNING);
        running.add(request);
        return true;
    }

    /** The waiting requests, in order. For tests, which distinguish two states by it. */
    List<AdmissionRequest> waiting() {
        return List.copyOf(waiting);
    }

    // The rules, one method each. Not private: a test overrides each with a known bug, and must find it.

    /** The first comparison, with the mark in memory, which it raises. */
    void compare(AdmissionRequest request) {
        if (judge(request) instanceof Verdict.Admitted admitted && admitted.raised()) {
            raise(admitted.next(), request);
        }
        request.requiredMark(mark);
    }

    void raise(Mark next, AdmissionRequest by) {
        mark = next;
        raisedAtMillis = by.arrivedAtMillis();
    }

    /** Whether the mark that this request was compared with is durable. */
    boolean isSaved(AdmissionRequest request) {
        return saved.covers(request.requiredMark());
    }

    /** The second comparison: a newer grant may have passed while the mark of the first comparison was being saved. */
    void compareAgain(AdmissionRequest request) {
        if (!request.isRefused() && judge(request) instanceof Verdict.Refused) {
            request.requiredMark(mark);
        }
    }

    /** Whether a call of a conflicting grant runs or is quarantined. */
    boolean isBlocked(AdmissionRequest request) {
        return closed || running.conflictsWith(request);
    }

    private void admitWaiting(long nowNanos) {
        closed = closed && closedUntilNanos - nowNanos > 0;
        for (AdmissionRequest request : List.copyOf(waiting)) {
            tryAdmit(request);
        }
    }

    private void tryAdmit(AdmissionRequest request) {
        if (!isSaved(request)) {
            return;
        }
        compareAgain(request);
        if (!isSaved(request)) {
            return;
        }
        if (request.isRefused()) {
            settle(request, State.REFUSED);
        } else if (!isBlocked(request)) {
            settle(request, State.RUNNING);
            running.add(request);
        } else {
            running.requestStop(request, superseded);
        }
    }

    private Verdict judge(AdmissionRequest request) {
        Verdict verdict = mark.judge(resource, request.sequencer(), request.access());
        if (verdict instanceof Verdict.Refused refused) {
            Rejection why = refused.rejection();
            request.refuse(
                    raisedAtMillis == 0
                            ? why
                            : why.with(Rejection.SUPERSEDED_AT_MILLIS, Long.toString(raisedAtMillis)));
        }
        return verdict;
    }

    private void settle(AdmissionRequest request, State state) {
        waiting.remove(request);
        request.setState(state);
        settled.add(request);
    }

    private void remove(AdmissionRequest request, long nowNanos) {
        boolean unblocks = running.remove(request);
        request.setState(State.ENDED);
        if (unblocks) {
            admitWaiting(nowNanos);
        }
    }

    private Rejection draining(AdmissionRequest request, long nowNanos) {
        long closedMillis = closed ? Math.max(1, (closedUntilNanos - nowNanos) / 1_000_000) : 0;
        String why = closed
                ? "this guard has just started or raised its marks, and calls that an earlier one let in to '"
                        + resource + "' may be running for another " + closedMillis + " ms"
                : "calls of " + running + " on '" + resource + "' have not ended yet";
        Rejection rejection = new Rejection(
                Reason.DRAINING,
                why + "; token " + request.sequencer().token() + " keeps its mark, nothing was applied: try again",
                Verdict.metadata(resource, request.sequencer()));
        return closed ? rejection.with(Rejection.RETRY_AFTER_MILLIS, Long.toString(closedMillis)) : rejection;
    }

    private Rejection unsaved(AdmissionRequest request) {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "the mark of '" + resource + "' could not be made durable; nothing was applied",
                Verdict.metadata(resource, request.sequencer()));
    }

    private static List<AdmissionRequest> take(List<AdmissionRequest> from) {
        if (from.isEmpty()) {
            return List.of();
        }
        List<AdmissionRequest> taken = List.copyOf(from);
        from.clear();
        return taken;
    }
}
