package dev.palisade.guard;

import dev.palisade.contract.Mode;
import dev.palisade.guard.AdmissionModel.Spec;
import dev.palisade.guard.RegisterDecision.Outcome;
import dev.palisade.guard.RegisterDecision.Outcome.Admitted;
import dev.palisade.guard.RegisterDecision.Outcome.Refused;
import dev.palisade.guard.StepSearch.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Model of two guards with one register, small enough to try every order of steps. Calls arrive, wait, run, end or
 * have an unknown outcome. Commits have unknown outcomes. Leases are renewed or not, and a guard takes over the
 * other one's entries. At the backend each call that started takes effect once, at some time before it has ended.
 * Calls of a guard without a lease apply nothing &#916; after the lease has ended. A violation is judged by what the
 * backend saw.
 *
 * <p>A test overrides the rules, one method each.
 */
class RegisterModel implements StepSearch.TransitionSystem {
    private static final long LEASE = 10;
    private static final long DELTA = 10;
    private static final long LAST = LEASE + DELTA;

    private enum State {
        NEW,
        WAITING,
        COMPARED,
        COMMITTED,
        RUNNING,
        QUARANTINED,
        OVER
    }

    /** One call, at one guard. */
    static final class Call {
        final Spec spec;
        final int number;
        final int guard;
        private State state = State.NEW;
        private boolean compared;
        private boolean unsure;
        private boolean mayApply;
        private boolean applied;
        private boolean isUnknown;
        private long unknownUntil;

        Call(Spec spec, int number) {
            this.spec = spec;
            this.number = number;
            this.guard = number % 2;
        }

        String owner() {
            return "guard" + guard;
        }

        private Object fingerprint() {
            return Arrays.asList(state, compared, unsure, mayApply, applied, isUnknown, unknownUntil);
        }
    }

    /** What a guard has read of the row. */
    record Guess(Mark mark, List<RegisteredCall> entries) {}

    /** A step on its way to the store, to be set if the row still has the version that it has read. */
    private record Late(Call call, RegisteredCall entry, Mark mark) {}

    private final List<Late> late = new ArrayList<>();
    private final Guess[] guesses = {new Guess(Mark.NONE, List.of()), new Guess(Mark.NONE, List.of())};
    private final List<Call> calls = new ArrayList<>();
    private final boolean mayPause;
    private final boolean mayDoubt;
    final List<RegisteredCall> entries = new ArrayList<>();
    Mark mark = Mark.NONE;
    private final Mark[] seen = {Mark.NONE, Mark.NONE};
    private final long[] leaseUntil = {LEASE, LEASE};
    private final boolean[] shutOut = {false, false};
    private long now;
    private long highestWrite;
    private long highestRead;
    private @Nullable String violation;

    /**
     * @param mayPause leases may end
     * @param mayDoubt commits may have unknown outcomes, and ends be unknown
     */
    RegisterModel(List<Spec> specs, boolean mayPause, boolean mayDoubt) {
        specs.forEach(spec -> calls.add(new Call(spec, calls.size())));
        this.mayPause = mayPause;
        this.mayDoubt = mayDoubt;
    }

    // The rules.

    /** The mark that a step of {@code guard} compares with. */
    Mark markFor(int guard, Mark seenHere) {
        return mark;
    }

    /** Whether comparing and registering are one step. */
    boolean isOneStep() {
        return true;
    }

    /** Whether a call that waited is compared again. */
    boolean comparesAgain() {
        return true;
    }

    /** Removes the entry of a call of which its guard knows that it has ended. */
    void leave(Call call) {
        entries.removeIf(entry -> entry.isOf(call.owner(), call.number));
    }

    /** How long after the end of its lease a guard's entries may be taken over. */
    long takenOverAfter() {
        return DELTA;
    }

    /** Whether a guard may start a call that it has registered. */
    boolean mayStart(boolean hasLease) {
        return hasLease;
    }

    /** Whether a guard may register a call although its row is gone. */
    boolean registersShutOut() {
        return false;
    }

    /** Whether an unknown commit is taken for one that failed, and its entry forgotten. */
    boolean forgetsDoubts() {
        return false;
    }

    /**
     * Whether steps decide on what their guard has read before, and may arrive at the store after the guard gave them up. No call
     * has an unknown outcome then: the search without such steps covers that.
     */
    boolean isOptimistic() {
        return false;
    }

    /** Whether a step that decided on {@code guess} may be set. */
    boolean maySet(Guess guess) {
        return guess.mark().equals(mark) && guess.entries().equals(entries);
    }

    /** Whether removing an entry that is not there changes the version of the row. */
    boolean removalLeavesAVersion() {
        return true;
    }

    /** Whether a call whose end is unknown is quarantined. */
    boolean quarantines() {
        return true;
    }

    @Override
    public Optional<String> violation() {
        return Optional.ofNullable(violation);
    }

    @Override
    public List<Step> possible() {
        List<Step> steps = new ArrayList<>();
        for (Call call : calls) {
            boolean mayStep = !shutOut[call.guard] || registersShutOut();
            switch (call.state) {
                case NEW -> steps.add(new Step("arrive", call.number));
                case WAITING -> {
                    if (mayStep) {
                        steps.add(new Step("step", call.number));
                        if (mayDoubt && !call.unsure) {
                            steps.add(new Step("doubt", call.number));
                            if (isOptimistic()) {
                                steps.add(new Step("send", call.number));
                            }
                        }
                    }
                    steps.add(new Step("abandon", call.number));
                }
                case COMPARED -> steps.add(new Step("register", call.number));
                case COMMITTED -> steps.add(new Step("start", call.number));
                case RUNNING -> {
                    steps.add(new Step("end", call.number));
                    if (mayDoubt && !isOptimistic()) {
                        steps.add(new Step("outcomeUnknown", call.number));
                    }
                }
                case QUARANTINED -> {
                    if (call.unknownUntil <= now) {
                        steps.add(new Step("assume", call.number));
                    }
                }
                case OVER -> {}
            }
            if (call.mayApply && !call.applied) {
                steps.add(new Step("apply", call.number));
            }
        }
        for (int guard = 0; mayPause && guard < 2; guard++) {
            if (!shutOut[guard] && leaseUntil[guard] < now + LEASE) {
                steps.add(new Step("renew", guard));
            }
            if (!shutOut[guard] && leaseUntil[guard] + takenOverAfter() <= now) {
                steps.add(new Step("takeOver", guard));
            }
        }
        for (int i = 0; i < late.size(); i++) {
            steps.add(new Step("arriveLate", i));
        }
        boolean waitsForTime = mayPause || calls.stream().anyMatch(call -> call.state == State.QUARANTINED);
        if (waitsForTime && now < LAST) {
            steps.add(new Step("pass", -1));
        }
        return steps;
    }

    @Override
    public void take(Step step) {
        switch (step.what()) {
            case "pass" -> pass();
            case "arriveLate" -> arriveLate(late.get(step.which()));
            case "renew" -> leaseUntil[step.which()] = now + LEASE;
            case "takeOver" -> {
                shutOut[step.which()] = true;
                entries.removeIf(entry -> entry.guard().equals("guard" + step.which()));
            }
            default -> take(step.what(), calls.get(step.which()));
        }
    }

    private void take(String what, Call call) {
        switch (what) {
            case "arrive" -> call.state = State.WAITING;
            case "step" -> step(call);
            case "doubt" -> {
                call.unsure = !forgetsDoubts();
                step(call);
                call.state = call.state == State.COMMITTED || call.state == State.COMPARED ? State.WAITING : call.state;
            }
            case "send" -> send(call);
            case "register" -> {
                entries.add(
                        RegisteredCall.running(call.owner(), call.number, call.spec.sequencer(), call.spec.access()));
                call.state = State.COMMITTED;
            }
            case "start" -> start(call);
            case "apply" -> apply(call);
            case "end" -> {
                call.mayApply = false;
                call.state = State.OVER;
                leave(call);
                late.clear();
            }
            case "outcomeUnknown" -> outcomeUnknown(call);
            case "assume" -> {
                call.state = State.OVER;
                leave(call);
                late.clear();
            }
            case "abandon" -> {
                call.state = State.OVER;
                if (!forgetsDoubts()) {
                    leave(call);
                    if (call.unsure && removalLeavesAVersion()) {
                        late.clear();
                    }
                }
            }
            default -> throw new IllegalStateException(what);
        }
    }

    /** Decided now, its reply is lost, and it may be set later. */
    private void send(Call call) {
        RegisterDecision decision = new RegisterDecision("r", call.owner(), mark, 0, entries, false);
        call.unsure = true;
        if (decision.enter(call.number, call.spec.sequencer(), call.spec.access(), 0) instanceof Admitted admitted) {
            late.add(new Late(call, admitted.entry(), decision.mark()));
        }
    }

    private void arriveLate(Late arriving) {
        late.clear(); // The version of the row changes.
        if (shutOut[arriving.call.guard]) {
            return;
        }
        entries.add(arriving.entry);
        mark = arriving.mark;
        if (arriving.call.state != State.WAITING) {
            violation = "the entry of " + arriving.call.spec + " stays, which is " + arriving.call.state;
        }
    }

    private void step(Call call) {
        Guess guess = isOptimistic() ? guesses[call.guard] : new Guess(mark, entries);
        List<RegisteredCall> known = new ArrayList<>(guess.entries());
        if (!forgetsDoubts()) {
            known.removeIf(entry -> entry.isOf(call.owner(), call.number));
        }
        boolean compares = !call.compared || comparesAgain();
        Mark compared = compares ? markFor(call.guard, seen[call.guard]) : Mark.NONE;
        RegisterDecision decision =
                new RegisterDecision("r", call.owner(), isOptimistic() ? guess.mark() : compared, 0, known, false);
        Outcome outcome = decision.enter(call.number, call.spec.sequencer(), call.spec.access(), 0);
        boolean set = maySet(guess);
        if (isOptimistic()) {
            guesses[call.guard] = new Guess(mark, List.copyOf(entries));
        }
        if (!set) {
            return;
        }
        Mark before = mark;
        List<RegisteredCall> entriesBefore = List.copyOf(entries);
        set(call, decision, outcome);
        boolean written =
                !before.equals(mark) || !entriesBefore.equals(entries) || (call.unsure && removalLeavesAVersion());
        if (written) {
            late.clear();
        }
    }

    private void set(Call call, RegisterDecision decision, Outcome outcome) {
        if (!forgetsDoubts()) {
            entries.removeIf(entry -> entry.isOf(call.owner(), call.number));
        }
        call.compared = true;
        seen[call.guard] = decision.mark();
        mark = decision.mark().covers(mark) ? decision.mark() : mark;
        if (outcome instanceof Refused) {
            call.state = State.OVER;
        } else if (outcome instanceof Admitted admitted) {
            calls.stream()
                    .filter(other -> other.isUnknown && other.mayApply && other.spec.access() == Access.WRITE)
                    .findAny()
                    .ifPresent(unknown -> violation = call.spec + " was admitted beside the unknown " + unknown.spec);
            if (isOneStep()) {
                entries.add(admitted.entry());
                call.state = State.COMMITTED;
            } else {
                call.state = State.COMPARED;
            }
        }
    }

    private void start(Call call) {
        if (!mayStart(leaseUntil[call.guard] > now && !shutOut[call.guard])) {
            call.state = State.OVER;
            leave(call);
            late.clear();
            return;
        }
        calls.stream()
                .filter(other -> other != call && other.mayApply && conflict(call, other))
                .findAny()
                .ifPresent(other -> violation = call.spec + " started beside " + other.spec);
        call.state = State.RUNNING;
        call.mayApply = true;
    }

    private void outcomeUnknown(Call call) {
        late.clear();
        call.state = State.QUARANTINED;
        call.unknownUntil = now + DELTA;
        call.isUnknown = true;
        if (!quarantines()) {
            leave(call);
            return;
        }
        entries.replaceAll(entry -> entry.isOf(call.owner(), call.number)
                ? new RegisteredCall(
                        entry.guard(), entry.number(), entry.mode(), entry.token(), entry.grant(), entry.access(), true)
                : entry);
    }

    private void pass() {
        now += 5;
        for (Call call : calls) {
            boolean unknownIsOver = call.isUnknown && call.unknownUntil <= now;
            if (unknownIsOver || leaseUntil[call.guard] + DELTA <= now) {
                call.mayApply = false;
            }
        }
    }

    private void apply(Call call) {
        call.applied = true;
        long token = call.spec.token();
        if (call.spec.access() == Access.READ) {
            highestRead = Math.max(highestRead, token);
            return;
        }
        if (token < highestWrite) {
            violation = "P6: " + call.spec + " was applied after a write with token " + highestWrite;
        }
        if (token < highestRead) {
            violation = "P7: " + call.spec + " was applied after a read with token " + highestRead;
        }
        highestWrite = Math.max(highestWrite, token);
    }

    private static boolean conflict(Call newcomer, Call other) {
        boolean sameGrant = newcomer.spec.token() == other.spec.token();
        boolean bothShared = newcomer.spec.mode() == Mode.SHARED && other.spec.mode() == Mode.SHARED;
        return !(sameGrant || bothShared);
    }

    @Override
    public Object fingerprint() {
        return Arrays.asList(
                calls.stream().map(Call::fingerprint).toList(),
                List.copyOf(entries),
                mark,
                List.of(seen),
                Arrays.stream(leaseUntil).boxed().toList(),
                List.of(shutOut[0], shutOut[1]),
                now,
                highestWrite,
                highestRead,
                List.of(guesses),
                late.stream().map(each -> each.call.number).toList());
    }
}
