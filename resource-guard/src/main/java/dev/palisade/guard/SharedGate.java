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
 * Gate of one resource in one guard of several that share a {@link SharedRegister}. It runs one step of the register
 * at a time. Each step includes all calls that arrived or ended meanwhile. It decides nothing and keeps no mark that
 * could admit a call. Waiting calls are compared again when a call has left, and by a poll with a back-off of up to
 * 200 ms.
 */
final class SharedGate implements ResourceGate {
    private static final long POLL_NANOS_MIN = 10_000_000;
    private static final long POLL_NANOS_MAX = 200_000_000;

    private final String resource;
    private final SharedGates gates;
    private final GuardContext context;
    private final SharedRegister register;
    private final Set<SharedCall> waiting = new LinkedHashSet<>();
    private final Set<SharedCall> registered = new LinkedHashSet<>();
    private final Set<SharedCall> leaving = new LinkedHashSet<>();
    private final Set<SharedCall> quarantining = new LinkedHashSet<>();
    private boolean working;
    private boolean retired;
    private boolean workPending;
    private long pollNanos = POLL_NANOS_MIN;
    private Runnable poll = () -> {};
    private @Nullable StoredMark seen;
    private @Nullable RejectedException storeFailure;

    SharedGate(String resource, SharedGates gates, GuardContext context, SharedRegister register) {
        this.resource = resource;
        this.gates = gates;
        this.context = context;
        this.register = register;
    }

    @Override
    public @Nullable CompletableFuture<AdmittedCall> enter(Sequencer sequencer, Access access, long deadlineNanos) {
        context.serving().requireOpen();
        SharedCall call = new SharedCall(this, register.nextNumber(), sequencer, access);
        synchronized (this) {
            if (retired) {
                return null;
            }
            waiting.add(call);
            call.cancelTimer = context.time().at(deadlineNanos, () -> abandon(call));
        }
        var unused = call.result().whenComplete((admitted, failure) -> {
            if (call.result().isCancelled()) {
                abandon(call);
            }
        });
        wakeUp();
        return call.result();
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
            context.quarantineOver(resource, call.sequencer(), "known");
            call.announce(); // It cannot conflict any more, and its entry may stay for as long as the register is away.
        }
        wakeUp();
    }

    void outcomeUnknown(SharedCall call) {
        long until = context.time().nanos() + context.quarantineNanos();
        synchronized (this) {
            if (call.state != State.RUNNING) {
                return;
            }
            call.state = State.QUARANTINED;
            quarantining.add(call);
        }
        context.quarantineBegan(resource, call.sequencer());
        context.time().at(until, () -> quarantineElapsed(call));
        wakeUp();
    }

    /**
     * Its entry is stored as quarantined, which blocks later calls of its own grant. Its end is reported later, or
     * becomes unknown.
     */
    void callerGone(SharedCall call) {
        synchronized (this) {
            if (call.state != State.RUNNING) {
                return;
            }
            quarantining.add(call);
        }
        wakeUp();
    }

    private void quarantineElapsed(SharedCall call) {
        synchronized (this) {
            if (call.state != State.QUARANTINED) {
                return;
            }
            leave(call);
        }
        context.quarantineOver(resource, call.sequencer(), "assumed");
        call.announce();
        wakeUp();
    }

    /** Under the lock. */
    private void leave(SharedCall call) {
        call.state = State.ENDED;
        registered.remove(call);
        quarantining.remove(call);
        leaving.add(call);
    }

    synchronized boolean isIdle() {
        return waiting.isEmpty() && registered.isEmpty();
    }

    /** Closes this gate permanently if it has nothing left to do. */
    synchronized boolean retireIfDone() {
        retired = retired || (isIdle() && leaving.isEmpty() && quarantining.isEmpty() && !working);
        return retired;
    }

    synchronized List<SharedCall> registered() {
        return List.copyOf(registered);
    }

    /** The mark of the newest step, informational only. */
    synchronized Optional<StoredMark> seen() {
        return Optional.ofNullable(seen);
    }

    /**
     * Requests the running calls to stop. When the guard has lost its entry in the register, waiting calls are
     * refused, too.
     */
    void stopAll() {
        registered().forEach(this::stop);
        register.failure().ifPresent(why -> refuseWaiting(why.asException()));
    }

    void stop(SharedCall call) {
        Runnable request = () -> {
            if (call.requestStop()) {
                context.counters().superseded.increment();
            }
        };
        execute(request, request);
    }

    /** Compares waiting calls again, if there are any. */
    void recheckWaiting() {
        boolean waits;
        synchronized (this) {
            waits = !waiting.isEmpty();
        }
        if (waits) {
            wakeUp();
        }
    }

    /** Schedules a step of the register. */
    void wakeUp() {
        synchronized (this) {
            workPending = true;
            poll.run();
            if (working) {
                return;
            }
            working = true;
        }
        try {
            register.execute(this::runSteps);
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                working = false;
                schedule(); // No thread is available. A closed guard sets no timer any more.
            }
            Rejection closed = context.serving().refusal();
            if (closed != null) {
                refuseWaiting(closed.asException());
                announceQuarantining();
            }
        }
    }

    /** A closed guard tries no step again. */
    private void announceQuarantining() {
        List<SharedCall> unannounced;
        synchronized (this) {
            unannounced = List.copyOf(quarantining);
        }
        unannounced.forEach(SharedCall::announce);
    }

    private void runSteps() {
        while (true) {
            SharedStep step;
            List<SharedCall> left;
            List<SharedCall> quarantined;
            synchronized (this) {
                workPending = false;
                left = List.copyOf(leaving);
                quarantined = List.copyOf(quarantining);
                List<SharedCall> entering = List.copyOf(waiting);
                entering.forEach(call -> call.inStep = true);
                step = new SharedStep(
                        resource,
                        register.guard(),
                        left.stream().map(SharedCall::number).toList(),
                        quarantined.stream().map(SharedCall::number).toList(),
                        entering,
                        left.stream().anyMatch(call -> call.mayBeRegistered),
                        context.time().millis());
            }
            run(step, left, quarantined);
            synchronized (this) {
                if (!workPending) {
                    working = false;
                    if (!waiting.isEmpty() || !leaving.isEmpty() || !quarantining.isEmpty()) {
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
        poll = context.time().at(context.time().nanos() + nanos, this::wakeUp);
    }

    private void run(SharedStep step, List<SharedCall> left, List<SharedCall> quarantined) {
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
            storeFailure = null;
            left.forEach(leaving::remove);
            quarantined.forEach(quarantining::remove);
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
        quarantined.forEach(SharedCall::announce);
        result.outcomes().forEach(this::decided);
    }

    private void failed(SharedStep step, Throwable failure) {
        synchronized (this) {
            storeFailure = SharedRegister.unavailable(failure);
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
            register.confirm()
                    .whenComplete((kept, unconfirmed) -> context.storeFailed()); // Is the guard's row still there?
        }
        if (context.serving().refusal() != null) {
            announceQuarantining();
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
            call.cancelTimer.run();
            boolean abandoned = call.state == State.ENDED;
            if (outcome instanceof Admitted) {
                if (abandoned) {
                    leaving.add(call);
                    workPending = true;
                    return;
                }
                call.state = State.RUNNING;
                registered.add(call);
            } else {
                call.state = State.ENDED;
            }
        }
        execute(() -> settle(call, outcome), () -> rejectUnexecuted(call, outcome));
    }

    /** Returns the blocking calls of this guard. Other guards request their own calls to stop. */
    private synchronized List<SharedCall> blocked(SharedCall call, Blocked blocked) {
        call.blockedBy = blocked.by() == null ? "" : describe(blocked.by());
        RegisteredCall newcomer = call.entry();
        return registered.stream()
                .filter(running -> !newcomer.isOfSameGrant(running.entry())
                        && RegisterDecision.conflicts(newcomer, running.entry()))
                .toList();
    }

    private static String describe(RegisteredCall call) {
        return "token " + call.token() + " (grant " + call.grant() + ", guard " + call.guard()
                + (call.quarantined() ? ", end unknown)" : ")");
    }

    /** The last check before the call starts: a guard that was paused past its lease starts none. */
    private void settle(SharedCall call, Outcome outcome) {
        if (outcome instanceof Refused refused) {
            call.result().completeExceptionally(refused.rejection().asException());
            return;
        }
        Rejection refusal = context.serving().refusal();
        if (refusal == null && !register.isLeaseValid()) {
            context.storeFailed();
            refusal = register.failure().orElseGet(SharedGate::paused);
        }
        if (refusal != null) {
            ended(call);
            call.result().completeExceptionally(refusal.asException());
        } else if (!call.result().complete(call)) {
            ended(call);
        }
    }

    private static Rejection paused() {
        return new Rejection(
                Reason.MARK_UNAVAILABLE,
                "this guard was paused, or out of touch with the shared register, for longer than its lease; nothing was"
                        + " applied: try again");
    }

    private void rejectUnexecuted(SharedCall call, Outcome outcome) {
        ended(call);
        call.result()
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
    private void abandon(SharedCall call) {
        RejectedException why;
        boolean mustWake;
        synchronized (this) {
            if (call.state != State.WAITING) {
                return;
            }
            call.state = State.ENDED;
            call.cancelTimer.run();
            waiting.remove(call);
            mustWake = call.mayBeRegistered && !call.inStep;
            if (mustWake) {
                leaving.add(call);
            }
            why = timeoutReason(call);
        }
        call.result().completeExceptionally(why);
        if (mustWake) {
            wakeUp();
        }
    }

    private RejectedException timeoutReason(SharedCall call) {
        Rejection impairment = context.serving().impairment();
        if (storeFailure != null) {
            return storeFailure;
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
                wakeUp();
                return;
            }
            refuseWaiting(MultiAdmission.rejected(failure));
        });
    }

    private void refuseWaiting(RejectedException why) {
        List<SharedCall> all;
        synchronized (this) {
            all = List.copyOf(waiting);
            waiting.clear();
            for (SharedCall call : all) {
                call.state = State.ENDED;
                call.cancelTimer.run();
                if (call.mayBeRegistered && !call.inStep) {
                    leaving.add(call);
                }
            }
        }
        for (SharedCall call : all) {
            Runnable refusal = () -> call.result().completeExceptionally(why);
            execute(refusal, refusal);
        }
    }

    private void execute(Runnable what, Runnable otherwise) {
        try {
            context.executor().execute(what);
        } catch (RuntimeException | Error e) {
            otherwise.run();
        }
    }
}
