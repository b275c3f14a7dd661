package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.StepSearch.Step;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Model of {@link AdmissionControl} and its environment, small enough to try every order of steps. Calls arrive; a
 * disk saves marks late; the guard may be killed; time passes. At the backend each admitted call takes effect once,
 * at some time before it has ended. A violation is judged by what the backend saw.
 */
final class AdmissionModel implements StepSearch.TransitionSystem {
    /** A call of a scenario, such as X34 WRITE. */
    record Spec(Mode mode, Sequencer sequencer, Access access) {
        Spec(Mode mode, long token, Access access) {
            this(mode, new Sequencer("i", LOCK, mode, new FencingToken(token), new GrantId(1, token), 0), access);
        }

        long token() {
            return sequencer.token().value();
        }

        @Override
        public String toString() {
            return (mode == Mode.EXCLUSIVE ? "X" : "S") + token() + " " + access;
        }
    }

    /** Factory of the admission control under test: the real one, or one with a bug. */
    interface Maker {
        AdmissionControl make(Mark saved, long now, long closedUntil);
    }

    private static final long DELTA = 10;
    private static final LockName LOCK = new LockName("l");

    /** State of one call; the backend applies it once, while {@code mayApply}. */
    private static final class Call {
        final Spec spec;

        AdmissionRequest request = new ForgottenRequest();
        boolean arrived;
        boolean mayApply;
        boolean applied;
        boolean retried;
        long appliesBefore = Long.MAX_VALUE;

        Call(Spec spec) {
            this.spec = spec;
        }

        /** Empty before the call has arrived. */
        Optional<CallFingerprint> fingerprint() {
            return arrived
                    ? Optional.of(new CallFingerprint(
                            request.state(),
                            mayApply,
                            applied,
                            retried,
                            appliesBefore,
                            request.requiredMark(),
                            request.isRefused(),
                            wasDraining(request),
                            request instanceof ForgottenRequest))
                    : Optional.empty();
        }
    }

    private final Maker maker;
    private final List<Call> calls;
    private final Deque<Mark> saving = new ArrayDeque<>();
    private final boolean mayCrash;
    private final boolean mayBeUnknown;
    private AdmissionControl admission;
    private Mark disk = Mark.NONE;
    private Mark asked = Mark.NONE;
    private long now;
    private boolean crashed;
    private boolean retryUsed;
    private long highestWrite;
    private long highestRead;
    private @Nullable String violation;

    AdmissionModel(Maker maker, List<Spec> specs, boolean mayCrash, boolean mayBeUnknown) {
        this.maker = maker;
        this.calls = specs.stream().map(Call::new).toList();
        this.mayCrash = mayCrash;
        this.mayBeUnknown = mayBeUnknown;
        this.admission = maker.make(disk, now, now);
    }

    @Override
    public Optional<String> violation() {
        return Optional.ofNullable(violation);
    }

    @Override
    public List<Step> possible() {
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < calls.size(); i++) {
            Call call = calls.get(i);
            AdmissionRequest request = call.request;
            if (!call.arrived) {
                steps.add(new Step("arrive", i));
                continue;
            }
            if (call.mayApply && !call.applied) {
                steps.add(new Step("apply", i));
            }
            switch (request.state()) {
                case WAITING -> steps.add(new Step("abandon", i));
                case RUNNING -> {
                    steps.add(new Step("end", i));
                    if (mayBeUnknown) {
                        steps.add(new Step("outcomeUnknown", i));
                    }
                }
                case QUARANTINED -> steps.add(new Step("end", i));
                case REFUSED -> {
                    if (!retryUsed && !call.retried && wasDraining(request)) {
                        steps.add(new Step("retry", i));
                    }
                }
                case ENDED -> {}
            }
        }
        if (!saving.isEmpty()) {
            steps.add(new Step("save", -1));
        }
        if (mayCrash && !crashed) {
            steps.add(new Step("crash", -1));
        }
        if (calls.stream().anyMatch(call -> call.appliesBefore != Long.MAX_VALUE && call.appliesBefore > now)
                || (crashed && now < DELTA)) {
            steps.add(new Step("pass", -1));
        }
        return steps;
    }

    @Override
    public void take(Step step) {
        switch (step.what()) {
            case "save" -> save();
            case "crash" -> crash();
            case "pass" -> pass();
            default -> take(step.what(), calls.get(step.which()));
        }
        settle();
    }

    private void take(String what, Call call) {
        switch (what) {
            case "arrive", "retry" -> arrive(call, what.equals("retry"));
            case "apply" -> apply(call);
            case "abandon" -> admission.abandon(call.request, now);
            case "end" -> {
                call.mayApply = false;
                admission.ended(call.request, now);
            }
            case "outcomeUnknown" -> {
                call.appliesBefore = now + DELTA;
                admission.outcomeUnknown(call.request, now + DELTA);
            }
            default -> throw new IllegalStateException(what);
        }
    }

    private void arrive(Call call, boolean retry) {
        Spec spec = call.spec;
        call.arrived = true;
        retryUsed |= retry;
        call.retried |= retry;
        call.request = new AdmissionRequest(spec.sequencer(), spec.access(), 0);
        admission.arrive(call.request, now);
    }

    private void save() {
        Mark mark = saving.remove();
        if (!mark.covers(disk)) {
            violation = "P12: the durable mark fell";
        }
        disk = mark;
        admission.markSaved(mark, now);
    }

    /** The guard's memory is lost. Calls that it admitted continue at the backend for at most the configured time. */
    private void crash() {
        crashed = true;
        saving.clear();
        for (Call call : calls) {
            if (call.mayApply) {
                call.appliesBefore = Math.min(call.appliesBefore, now + DELTA);
            }
            call.request = new ForgottenRequest();
        }
        asked = disk;
        admission = maker.make(disk, now, now + DELTA);
    }

    private void pass() {
        now += DELTA;
        for (Call call : calls) {
            if (call.appliesBefore <= now) {
                call.mayApply = false;
            }
        }
        admission.advanceTime(now);
    }

    private void settle() {
        for (AdmissionRequest request : admission.takeSettled()) {
            Call call = calls.get(indexOf(request));
            if (request.state() == AdmissionRequest.State.RUNNING) {
                calls.stream()
                        .filter(other -> other != call && other.mayApply && conflict(call, other))
                        .findAny()
                        .ifPresent(other -> violation = call.spec + " was admitted beside " + other.spec);
                call.mayApply = true;
            } else {
                request.rejection().ifPresent(rejection -> {
                    if (rejection.reason() == Reason.TOKEN_STALE && !disk.covers(request.requiredMark())) {
                        violation = call.spec + " was refused for a mark that a crash could take back";
                    }
                });
            }
        }
        admission.takeSuperseded();
        if (!asked.covers(admission.mark())) {
            asked = admission.mark();
            saving.add(asked);
        }
    }

    private void apply(Call call) {
        call.applied = true;
        Spec spec = call.spec;
        if (spec.access() == Access.READ) {
            highestRead = Math.max(highestRead, spec.token());
            return;
        }
        if (spec.token() < highestWrite) {
            violation = "P6: " + spec + " was applied after a write with token " + highestWrite;
        }
        if (spec.token() < highestRead) {
            violation = "P7: " + spec + " was applied after a read with token " + highestRead;
        }
        highestWrite = Math.max(highestWrite, spec.token());
    }

    private int indexOf(AdmissionRequest request) {
        for (int i = 0; i < calls.size(); i++) {
            if (calls.get(i).request == request) {
                return i;
            }
        }
        throw new IllegalStateException("a request of no call");
    }

    /** In this model a token has one grant. A write of the same grant with an unknown outcome conflicts, too. */
    private static boolean conflict(Call newcomer, Call other) {
        boolean sameGrant = newcomer.spec.token() == other.spec.token();
        boolean bothShared = newcomer.spec.mode() == Mode.SHARED && other.spec.mode() == Mode.SHARED;
        boolean lost = other.appliesBefore != Long.MAX_VALUE && other.spec.access() == Access.WRITE;
        return lost || !(sameGrant || bothShared);
    }

    private static boolean wasDraining(AdmissionRequest request) {
        return request.rejection()
                .filter(rejection -> rejection.reason() == Reason.DRAINING)
                .isPresent();
    }

    @Override
    public Object fingerprint() {
        return new Fingerprint(
                disk,
                admission.mark(),
                List.copyOf(saving),
                now,
                crashed,
                retryUsed,
                highestWrite,
                highestRead,
                calls.stream().map(Call::fingerprint).toList(),
                admission.waiting().stream().map(this::indexOf).toList());
    }

    private record Fingerprint(
            Mark disk,
            Mark admission,
            List<Mark> saving,
            long now,
            boolean crashed,
            boolean retryUsed,
            long highestWrite,
            long highestRead,
            List<Optional<CallFingerprint>> calls,
            List<Integer> waiting) {}

    private record CallFingerprint(
            AdmissionRequest.State state,
            boolean mayApply,
            boolean applied,
            boolean retried,
            long appliesBefore,
            Mark requiredMark,
            boolean refused,
            boolean draining,
            boolean forgotten) {}

    /** Placeholder for a call of a guard that was killed: the new guard does not know it. */
    private static final class ForgottenRequest extends AdmissionRequest {
        private static final Sequencer NONE =
                new Sequencer("i", LOCK, Mode.EXCLUSIVE, new FencingToken(1), new GrantId(1, 1), 0);

        ForgottenRequest() {
            super(NONE, Access.READ, 0);
            setState(State.ENDED);
        }
    }
}
