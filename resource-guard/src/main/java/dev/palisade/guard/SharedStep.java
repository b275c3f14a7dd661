package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.guard.RegisterDecision.Outcome;
import dev.palisade.guard.RegisterDecision.Outcome.Admitted;
import dev.palisade.guard.RegisterDecision.Outcome.Blocked;
import dev.palisade.guard.RegisterDecision.Outcome.Refused;
import dev.palisade.guard.RegisterRows.MarkRow;
import dev.palisade.guard.RegisterRows.State;
import dev.palisade.guard.RegisterRows.StateAndBase;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One atomic step of one resource in a {@link SharedRegister}: ended calls leave, and waiting calls are decided by
 * {@link RegisterDecision}. The mark's row is locked first, so that steps of one resource are serialized.
 *
 * @param leaving calls whose entries are removed
 * @param quarantining calls whose entries are quarantined
 * @param entering calls to decide, in this order
 * @param resolves whether an entry of an earlier step with an unknown outcome may be among them: that step has
 *     ended, one way or the other, when the row is locked
 * @param nowMillis milliseconds since 1970, informational only
 */
record SharedStep(
        String resource,
        String guard,
        List<Long> leaving,
        List<Long> quarantining,
        List<SharedCall> entering,
        boolean resolves,
        long nowMillis) {
    /**
     * Result of a step.
     *
     * @param state of the whole register; null: it was not read
     * @param needsBase whether a base mark has to be requested before any call is decided
     * @param mark the resource's mark; null: no call was decided
     */
    record Result(
            @Nullable State state,
            boolean needsBase,
            Map<SharedCall, Outcome> outcomes,
            @Nullable StoredMark mark) {}

    private static final Result LEFT = new Result(null, false, Map.of(), null);

    /** @param isClosed whether nothing may start yet, by the state of the register */
    Result in(RegisterRows rows, Predicate<State> isClosed) throws SQLException {
        if (entering.isEmpty() && !resolves) {
            leave(rows);
            return LEFT;
        }
        MarkRow row = rows.lockMark(resource);
        leave(rows);
        if (entering.isEmpty()) {
            return LEFT;
        }
        rows.remove(
                resource,
                guard,
                entering.stream()
                        .filter(call -> call.mayBeRegistered)
                        .map(SharedCall::number)
                        .toList());
        SharedCall first = entering.get(0);
        String issuer = first.sequencer().issuer();
        StateAndBase found = rows.state(issuer, first.sequencer().lock().domain());
        State state = found.state();
        StoredMark known = row.epoch() == state.epoch() ? row.mark() : null;
        long base = found.base().orElse(0L);
        if (known == null && found.base().isEmpty() && !state.complete()) {
            return new Result(state, true, Map.of(), null);
        }
        StoredMark before = known != null
                ? known
                : new StoredMark(resource, issuer, first.sequencer().lock(), start(row, base), 0);
        return decide(rows, state, before, isClosed.test(state));
    }

    private void leave(RegisterRows rows) throws SQLException {
        rows.remove(resource, guard, leaving);
        if (!leaving.isEmpty()) {
            rows.announceLeave(resource);
        }
        rows.quarantine(resource, guard, quarantining);
    }

    private Result decide(RegisterRows rows, State state, StoredMark before, boolean closed) throws SQLException {
        List<RegisteredCall> registered = rows.calls(resource);
        RegisterDecision decision =
                new RegisterDecision(resource, guard, before.mark(), before.raisedAtMillis(), registered, closed);
        Map<SharedCall, Outcome> outcomes = new LinkedHashMap<>();
        List<RegisteredCall> admitted = new ArrayList<>();
        for (SharedCall call : entering) {
            Outcome outcome = isOf(before, call)
                    ? decision.enter(call.number(), call.sequencer(), call.access(), nowMillis)
                    : new Refused(wrongLock(before, call));
            outcomes.put(call, outcome);
            if (outcome instanceof Admitted entered) {
                admitted.add(entered.entry());
            }
        }
        StoredMark after =
                new StoredMark(resource, before.issuer(), before.lock(), decision.mark(), decision.raisedAtMillis());
        if (!after.mark().equals(before.mark())) {
            rows.putMark(after, state.epoch());
        }
        for (RegisteredCall call : admitted) {
            rows.register(resource, call);
        }
        if (outcomes.values().stream()
                .anyMatch(outcome -> outcome instanceof Blocked blocked && blocked.by() != null)) {
            rows.awaitLeave(resource);
        }
        if (!closed && !state.isSettled()) {
            rows.settle(state.epoch());
        }
        return new Result(state, false, outcomes, after);
    }

    /** Where a resource without a mark of this epoch starts: never below its earlier mark, whatever token the barrier had. */
    private Mark start(MarkRow row, long base) {
        StoredMark earlier = row.mark();
        return earlier != null && isOf(earlier, entering.get(0))
                ? earlier.mark().refusingAll(base)
                : Mark.base(base);
    }

    private static boolean isOf(StoredMark mark, SharedCall call) {
        return mark.lock().equals(call.sequencer().lock())
                && mark.issuer().equals(call.sequencer().issuer());
    }

    private static Rejection wrongLock(StoredMark mark, SharedCall call) {
        return new Rejection(
                Reason.WRONG_RESOURCE,
                "resource '" + mark.resource() + "' is bound to lock '" + mark.lock()
                        + "' in the shared register and to" + " lock '"
                        + call.sequencer().lock() + "' here; bind it to one of them in every guard",
                Verdict.metadata(mark.resource(), call.sequencer()));
    }
}
