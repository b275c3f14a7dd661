package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.guard.RegisterDecision.Outcome;
import dev.palisade.guard.RegisterDecision.Outcome.Admitted;
import dev.palisade.guard.RegisterDecision.Outcome.Blocked;
import dev.palisade.guard.RegisterDecision.Outcome.Refused;
import dev.palisade.guard.RegisterStore.FailedException;
import dev.palisade.guard.SharedCall.State;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * One guard's calls of one resource on their way through a {@link SharedRegister}: one step at a time, which takes along all
 * that arrived or ended meanwhile. It decides nothing and remembers no mark that could admit a call. Calls that wait are
 * compared again when a call has left, and by a poll that grows to 200 ms.
 */
final class SharedGate implements ResourceGate {
    private static final long POLL_NANOS_MIN = 10_000_000;
    private static final long POLL_NANOS_MAX = 200_000_000;

    private final String resource;
    private final SharedGates gates;
    private final House house;
    private final SharedRegister register;
    private final Set<SharedCall> waiting = new LinkedHashSet<>();
    private final Set<SharedCall> registered = new LinkedHashSet<>();
    private final Set<SharedCall> leaving = new LinkedHashSet<>();
    private final Set<SharedCall> losing = new LinkedHashSet<>();
    private boolean working;
    private boolean retired;
    private boolean news;
    private long pollNanos = POLL_NANOS_MIN;
    private Runnable poll = () -> {};
    private @Nullable StoredMark seen;
    private @Nullable RejectedException trouble;

    SharedGate(String resource, SharedGates gates, House house, SharedRegister register) {
        this.resource = resource;
        this.gates = gates;
        this.house = house;
        this.register = register;
    }

    @Override
    public @Nullable CompletableFuture<AdmittedCall> enter(Sequencer sequencer, Access access, long deadlineNanos) {
        house.serving().requireOpen();
        SharedCall call = new SharedCall(this, register.nextNumber(), sequencer, access);
        synchronized (this) {
            if (retired) {
                return null;
            }
            waiting.add(call);
            call.alarm = house.time().at(deadlineNanos, () -> giveUp(call));
        }
        var unused = call.answer().whenComplete((admitted, failure) -> {
            if (call.answer().isCancelled()) {
                giveUp(call);
            }
        });
        kick();
        return call.answer();
    }

    @Override
    public Optional<Rejection> observe(Sequencer sequencer, Access access) {
        throw new IllegalStateException("a guard that only observes has no register");
    }

    void ended(SharedCall call) {
        boolean known;
        synchronized (this) {
            if (call.state != State.RUNNING && call.state != State.QUARANTINED) {
                return;
            }
            known = call.state == State.QUARANTINED;
            leave(call);
        }
        if (known) {
            house.quarantineOver(resource, call.sequencer(), "known");
            call.announce(); // It cannot conflict any more, and its entry may stay for as long as the register is away.
        }
        kick();
    }

    void outcomeUnknown(SharedCall call) {
        long until = house.time().nanos() + house.quarantineNanos();
        synchronized (this) {
            if (call.state != State.RUNNING) {
                return;
            }
            call.state = State.QUARANTINED;
            losing.add(call);
        }
        house.quarantineBegan(resource, call.sequencer());
        house.time().at(until, () -> overdue(call));
        kick();
    }

    /** Its entry looks as in quarantine, which keeps later calls of its own grant out; its end is said, or becomes unknown. */
    void callerGone(SharedCall call) {
        synchronized (this) {
            if (call.state != State.RUNNING) {
                return;
            }
            losing.add(call);
        }
        kick();
    }

    private void overdue(SharedCall call) {
        synchronized (this) {
            if (call.state != State.QUARANTINED) {
                return;
            }
            leave(call);
        }
        house.quarantineOver(resource, call.sequencer(), "assumed");
        call.announce();
        kick();
    }

    /** Under the lock. */
    private void leave(SharedCall call) {
        call.state = State.ENDED;
        registered.remove(call);
        losing.remove(call);
        leaving.add(call);
    }

    synchronized boolean isIdle() {
        return waiting.isEmpty() && registered.isEmpty();
    }

    /** Closes this gate for good if nothing is left to do for it. */
    synchronized boolean retireIfDone() {
        retired = retired || (isIdle() && leaving.isEmpty() && losing.isEmpty() && !working);
        return retired;
    }

    synchronized List<SharedCall> registered() {
        return List.copyOf(registered);
    }

    /** The mark of the newest step, for people. */
    synchronized Optional<StoredMark> seen() {
        return Optional.ofNullable(seen);
    }

    /** Asks the calls that run here to stop; when the guard has lost its place in the register, none can start any more. */
    void stopAll() {
        registered().forEach(this::stop);
        register.failure().ifPresent(lost -> refuseWaiting(lost.asException()));
    }

    void stop(SharedCall call) {
        Runnable request = () -> {
            if (call.requestStop()) {
                house.counters().superseded.increment();
            }
        };
        hand(request, request);
    }

    /** Compares waiting calls again, if there are any. */
    void kickWaiting() {
        boolean waits;
        synchronized (this) {
            waits = !waiting.isEmpty();
        }
        if (waits) {
            kick();
        }
    }

    /** There is something to do. */
    void kick() {
        synchronized (this) {
            news = true;
            poll.run();
            if (working) {
                return;
            }
            working = true;
        }
        try {
            register.execute(this::work);
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                working = false;
                schedule(); // No thread to be had; a closed guard sets off no alarm any more.
            }
            Rejection closed = house.serving().refusal();
            if (closed != null) {
                refuseWaiting(closed.asException());
                announceLosing();
            }
        }
    }

    /** A closed guard tries no step again. */
    private void announceLosing() {
        List<SharedCall> unheard;
        synchronized (this) {
            unheard = List.copyOf(losing);
        }
        unheard.forEach(SharedCall::announce);
    }

    private void work() {
        while (true) {
            SharedStep step;
            List<SharedCall> left;
            List<SharedCall> lost;
            synchronized (this) {
                news = false;
                left = List.copyOf(leaving);
                lost = List.copyOf(losing);
                List<SharedCall> entering = List.copyOf(waiting);
                entering.forEach(call -> call.inStep = true);
                step = new SharedStep(
                        resource,
                        register.guard(),
                        left.stream().map(SharedCall::number).toList(),
                        lost.stream().map(SharedCall::number).toList(),
                        entering,
                        left.stream().anyMatch(call -> call.mayBeRegistered),
                        house.time().millis());
            }
            run(step, left, lost);
            synchronized (this) {
                if (!news) {
                    working = false;
                    if (!waiting.isEmpty() || !leaving.isEmpty() || !losing.isEmpty()) {
                        schedule();
                    }
                    return;
                }
            }
        }
    }

    /** Under the lock. */
    private void schedule() {
        long nanos = pollNanos / 2 + ThreadLocalRandom.current().nextLong(pollNanos / 2);
        pollNanos = Math.min(POLL_NANOS_MAX, 2 * pollNanos);
        poll = house.time().at(house.time().nanos() + nanos, this::kick);
    }

    private void run(SharedStep step, List<SharedCall> left, List<SharedCall> lost) {
        long basesMade = gates.basesMade();
        SharedStep.Result result;
        try {
            result = register.transact(rows -> step.in(rows, gates::isClosed));
        } catch (FailedException | RuntimeException | Error e) {
            failed(step, e);
            return;
        }
        if (result.state() != null) {
            gates.adopt(result.state());
        }
        synchronized (this) {
            trouble = null;
            left.forEach(leaving::remove);
            lost.forEach(losing::remove);
            seen = result.mark() == null ? seen : result.mark();
            step.entering().forEach(call -> {
                call.inStep = false;
                call.mayBeRegistered = false;
            });
        }
        if (result.needsBase() && result.state() != null) {
            askForBase(step.entering().get(0).sequencer(), result.state().epoch(), basesMade);
        }
        left.forEach(SharedCall::announce);
        lost.forEach(SharedCall::announce);
        result.outcomes().forEach(this::decided);
    }

    private void failed(SharedStep step, Throwable failure) {
        synchronized (this) {
            trouble = SharedRegister.unavailable(failure);
            boolean unknown = !(failure instanceof FailedException failed) || failed.isUnknown();
            for (SharedCall call : step.entering()) {
                call.inStep = false;
                call.mayBeRegistered |= unknown;
                if (call.state == State.ENDED && call.mayBeRegistered) {
                    leaving.add(call);
                }
            }
        }
        if (failure instanceof FailedException failed && failed.violatesConstraint()) {
            register.confirm().whenComplete((kept, lost) -> house.storeFailed()); // Is the guard's row still there?
        }
        if (house.serving().refusal() != null) {
            announceLosing();
        }
    }

    private void decided(SharedCall call, Outcome outcome) {
        if (outcome instanceof Blocked blocked) {
            blocked(call, blocked).forEach(this::stop);
            return;
        }
        synchronized (this) {
            waiting.remove(call);
            pollNanos = POLL_NANOS_MIN;
            call.alarm.run();
            boolean givenUp = call.state == State.ENDED;
            if (outcome instanceof Admitted) {
                if (givenUp) {
                    leaving.add(call);
                    news = true;
                    return;
                }
                call.state = State.RUNNING;
                registered.add(call);
            } else {
                call.state = State.ENDED;
            }
        }
        hand(() -> tell(call, outcome), () -> turnAway(call, outcome));
    }

    /** Returns the calls of this guard that are in the way. Those of other guards are told by their own. */
    private synchronized List<SharedCall> blocked(SharedCall call, Blocked blocked) {
        call.blockedBy = blocked.by() == null ? "" : who(blocked.by());
        RegisteredCall newcomer = call.entry();
        return registered.stream()
                .filter(running -> !newcomer.isOfSameGrant(running.entry())
                        && RegisterDecision.conflicts(newcomer, running.entry()))
                .toList();
    }

    private static String who(RegisteredCall call) {
        return "token " + call.token() + " (grant " + call.grant() + ", guard " + call.guard()
                + (call.quarantined() ? ", end unknown)" : ")");
    }

    /** The last look before the call starts: a guard that was paused past its lease starts none. */
    private void tell(SharedCall call, Outcome outcome) {
        if (outcome instanceof Refused refused) {
            call.answer().completeExceptionally(refused.rejection().asException());
            return;
        }
        Rejection refusal = house.serving().refusal();
        if (refusal == null && !register.isLeaseValid()) {
            house.storeFailed();
            refusal = register.failure().orElseGet(SharedGate::paused);
        }
        if (refusal != null) {
            ended(call);
            call.answer().completeExceptionally(refusal.asException());
        } else if (!call.answer().complete(call)) {
            ended(call);
        }
    }

    private static Rejection paused() {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "this guard was paused, or out of touch with the shared register, for longer than its lease; nothing was"
                        + " applied: try again");
    }

    private void turnAway(SharedCall call, Outcome outcome) {
        ended(call);
        call.answer()
                .completeExceptionally(
                        outcome instanceof Refused refused
                                ? refused.rejection().asException()
                                : new Rejection(
                                                Reason.LIMIT_EXCEEDED,
                                                "the guard's executor takes no more calls; nothing was applied: try again"
                                                        + " later")
                                        .asException());
    }

    /** The caller waits no longer. The mark stays raised. */
    private void giveUp(SharedCall call) {
        RejectedException why;
        boolean kick;
        synchronized (this) {
            if (call.state != State.WAITING) {
                return;
            }
            call.state = State.ENDED;
            call.alarm.run();
            waiting.remove(call);
            kick = call.mayBeRegistered && !call.inStep;
            if (kick) {
                leaving.add(call);
            }
            why = inVain(call);
        }
        call.answer().completeExceptionally(why);
        if (kick) {
            kick();
        }
    }

    private RejectedException inVain(SharedCall call) {
        Rejection impairment = house.serving().impairment();
        if (trouble != null) {
            return trouble;
        }
        if (call.blockedBy == null) {
            return (impairment != null
                            ? impairment
                            : new Rejection(
                                    Reason.MARK_UNAVAILABLE,
                                    "the shared register did not answer about '" + resource
                                            + "' in time; nothing was applied: try again"))
                    .asException();
        }
        String why = call.blockedBy.isEmpty()
                ? "the shared register has just been made or its marks were raised, and calls from before may be running"
                : "calls of " + call.blockedBy + " on '" + resource + "' have not ended yet";
        return new Rejection(
                        Reason.DRAINING,
                        why + "; token " + call.sequencer().token() + " keeps its mark, nothing was applied: try again",
                        Verdict.metadata(resource, call.sequencer()))
                .asException();
    }

    private void askForBase(Sequencer sequencer, long epoch, long basesMade) {
        gates.makeBase(sequencer, epoch, basesMade).whenComplete((made, failure) -> {
            if (failure == null) {
                kick();
                return;
            }
            refuseWaiting(Entering.rejected(failure));
        });
    }

    private void refuseWaiting(RejectedException why) {
        List<SharedCall> all;
        synchronized (this) {
            all = List.copyOf(waiting);
            waiting.clear();
            for (SharedCall call : all) {
                call.state = State.ENDED;
                call.alarm.run();
                if (call.mayBeRegistered && !call.inStep) {
                    leaving.add(call);
                }
            }
        }
        for (SharedCall call : all) {
            Runnable refusal = () -> call.answer().completeExceptionally(why);
            hand(refusal, refusal);
        }
    }

    private void hand(Runnable what, Runnable otherwise) {
        try {
            house.executor().execute(what);
        } catch (RuntimeException | Error e) {
            otherwise.run();
        }
    }
}
