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
 * A {@link Door} and all that surrounds it, small enough to try every order of steps: calls that arrive, a disk that keeps
 * marks late, a backend where each call that was let in takes effect once, at some time before it has ended, a guard that
 * may be killed, and time. It judges by what the backend saw.
 */
final class DoorWorld implements StepSearch.World {
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

    /** Makes the door under test: ours, or one with a bug. */
    interface Maker {
        Door make(Mark saved, long now, long closedUntil);
    }

    private static final long DELTA = 10;
    private static final LockName LOCK = new LockName("l");

    /** What is true of one call; the backend applies it once, while {@code mayApply}. */
    private static final class Call {
        final Spec spec;

        Visit visit = new Gone();
        boolean arrived;
        boolean mayApply;
        boolean applied;
        boolean retried;
        long appliesBefore = Long.MAX_VALUE;

        Call(Spec spec) {
            this.spec = spec;
        }

        /** Nothing, before it has arrived. */
        Optional<CallFingerprint> fingerprint() {
            return arrived
                    ? Optional.of(new CallFingerprint(
                            visit.state(),
                            mayApply,
                            applied,
                            retried,
                            appliesBefore,
                            visit.needs(),
                            visit.isRefused(),
                            wasDraining(visit),
                            visit instanceof Gone))
                    : Optional.empty();
        }
    }

    private final Maker maker;
    private final List<Call> calls;
    private final Deque<Mark> saving = new ArrayDeque<>();
    private final boolean mayCrash;
    private final boolean mayLoseSight;
    private Door door;
    private Mark disk = Mark.NONE;
    private Mark asked = Mark.NONE;
    private long now;
    private boolean crashed;
    private boolean retryUsed;
    private long highestWrite;
    private long highestRead;
    private @Nullable String violation;

    DoorWorld(Maker maker, List<Spec> specs, boolean mayCrash, boolean mayLoseSight) {
        this.maker = maker;
        this.calls = specs.stream().map(Call::new).toList();
        this.mayCrash = mayCrash;
        this.mayLoseSight = mayLoseSight;
        this.door = maker.make(disk, now, now);
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
            Visit visit = call.visit;
            if (!call.arrived) {
                steps.add(new Step("arrive", i));
                continue;
            }
            if (call.mayApply && !call.applied) {
                steps.add(new Step("apply", i));
            }
            switch (visit.state()) {
                case WAITING -> steps.add(new Step("giveUp", i));
                case RUNNING -> {
                    steps.add(new Step("end", i));
                    if (mayLoseSight) {
                        steps.add(new Step("loseSight", i));
                    }
                }
                case QUARANTINED -> steps.add(new Step("end", i));
                case REFUSED -> {
                    if (!retryUsed && !call.retried && wasDraining(visit)) {
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
            case "giveUp" -> door.giveUp(call.visit, now);
            case "end" -> {
                call.mayApply = false;
                door.ended(call.visit, now);
            }
            case "loseSight" -> {
                call.appliesBefore = now + DELTA;
                door.outcomeUnknown(call.visit, now + DELTA);
            }
            default -> throw new IllegalStateException(what);
        }
    }

    private void arrive(Call call, boolean retry) {
        Spec spec = call.spec;
        call.arrived = true;
        retryUsed |= retry;
        call.retried |= retry;
        call.visit = new Visit(spec.sequencer(), spec.access(), 0);
        door.arrive(call.visit, now);
    }

    private void save() {
        Mark mark = saving.remove();
        if (!mark.covers(disk)) {
            violation = "P12: the durable mark fell";
        }
        disk = mark;
        door.saved(mark, now);
    }

    /** The guard's memory is gone. What it let in goes on at the backend for a time that the operator vouches for. */
    private void crash() {
        crashed = true;
        saving.clear();
        for (Call call : calls) {
            if (call.mayApply) {
                call.appliesBefore = Math.min(call.appliesBefore, now + DELTA);
            }
            call.visit = new Gone();
        }
        asked = disk;
        door = maker.make(disk, now, now + DELTA);
    }

    private void pass() {
        now += DELTA;
        for (Call call : calls) {
            if (call.appliesBefore <= now) {
                call.mayApply = false;
            }
        }
        door.pass(now);
    }

    private void settle() {
        for (Visit visit : door.takeSettled()) {
            Call call = calls.get(indexOf(visit));
            if (visit.state() == Visit.State.RUNNING) {
                calls.stream()
                        .filter(other -> other != call && other.mayApply && conflict(call, other))
                        .findAny()
                        .ifPresent(other -> violation = call.spec + " was let in beside " + other.spec);
                call.mayApply = true;
            } else {
                visit.rejection().ifPresent(rejection -> {
                    if (rejection.reason() == Reason.TOKEN_STALE && !disk.covers(visit.needs())) {
                        violation = call.spec + " was refused for a mark that a crash could take back";
                    }
                });
            }
        }
        door.takeSuperseded();
        if (!asked.covers(door.mark())) {
            asked = door.mark();
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

    private int indexOf(Visit visit) {
        for (int i = 0; i < calls.size(); i++) {
            if (calls.get(i).visit == visit) {
                return i;
            }
        }
        throw new IllegalStateException("a visit of no call");
    }

    /** In these worlds a token has one grant. A write of one's own that was lost sight of is in the way, too. */
    private static boolean conflict(Call newcomer, Call other) {
        boolean sameGrant = newcomer.spec.token() == other.spec.token();
        boolean bothShared = newcomer.spec.mode() == Mode.SHARED && other.spec.mode() == Mode.SHARED;
        boolean lost = other.appliesBefore != Long.MAX_VALUE && other.spec.access() == Access.WRITE;
        return lost || !(sameGrant || bothShared);
    }

    private static boolean wasDraining(Visit visit) {
        return visit.rejection()
                .filter(rejection -> rejection.reason() == Reason.DRAINING)
                .isPresent();
    }

    @Override
    public Object fingerprint() {
        return new Fingerprint(
                disk,
                door.mark(),
                List.copyOf(saving),
                now,
                crashed,
                retryUsed,
                highestWrite,
                highestRead,
                calls.stream().map(Call::fingerprint).toList(),
                door.waiting().stream().map(this::indexOf).toList());
    }

    private record Fingerprint(
            Mark disk,
            Mark door,
            List<Mark> saving,
            long now,
            boolean crashed,
            boolean retryUsed,
            long highestWrite,
            long highestRead,
            List<Optional<CallFingerprint>> calls,
            List<Integer> waiting) {}

    private record CallFingerprint(
            Visit.State state,
            boolean mayApply,
            boolean applied,
            boolean retried,
            long appliesBefore,
            Mark needs,
            boolean refused,
            boolean draining,
            boolean gone) {}

    /** Stands for a call of a guard that was killed: no door knows it. */
    private static final class Gone extends Visit {
        private static final Sequencer NONE =
                new Sequencer("i", LOCK, Mode.EXCLUSIVE, new FencingToken(1), new GrantId(1, 1), 0);

        Gone() {
            super(NONE, Access.READ, 0);
            become(State.ENDED);
        }
    }
}
