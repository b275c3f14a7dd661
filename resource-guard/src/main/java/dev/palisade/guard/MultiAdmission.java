package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Admission of one call to several resources, one gate after the other in sorted order. So two calls that need the
 * same resources cannot deadlock. When it ends early, the gates that it has passed are left.
 */
final class MultiAdmission extends CompletableFuture<Admission> {
    private final ResourceGates gates;
    private final GuardContext context;
    private final Sequencer sequencer;
    private final Access access;
    private final long deadlineNanos;
    private final List<Binding> resources;
    /** Left when this ends early, while another thread may still add to it. */
    private final List<AdmittedCall> passed = new CopyOnWriteArrayList<>();

    private final AtomicInteger pendingSteps = new AtomicInteger();

    /** The pending admission at one gate; null while that gate is being opened. */
    private volatile @Nullable CompletableFuture<?> step;

    private volatile boolean isLate;

    MultiAdmission(
            ResourceGates gates,
            GuardContext context,
            Sequencer sequencer,
            Access access,
            long deadlineNanos,
            List<Binding> resources) {
        this.gates = gates;
        this.context = context;
        this.sequencer = sequencer;
        this.access = access;
        this.deadlineNanos = deadlineNanos;
        this.resources = resources;
    }

    /**
     * The same outcome, after {@code first} has seen it. On one future, the stages that its caller adds may run
     * before {@code first}. Cancelling or completing the result early ends {@code entering}.
     */
    static CompletableFuture<Admission> answerAfter(
            CompletableFuture<Admission> entering, BiConsumer<@Nullable Admission, @Nullable Throwable> first) {
        CompletableFuture<Admission> answer = new CompletableFuture<>();
        var unused = entering.whenComplete((admission, failure) -> {
            first.accept(admission, failure);
            if (failure != null) {
                answer.completeExceptionally(failure);
            } else if (!answer.complete(admission)) {
                admission.close();
            }
        });
        var unusedEnd = answer.whenComplete((admission, failure) -> {
            if (failure != null) {
                entering.cancel(false);
            }
        });
        return answer;
    }

    /** Starts when {@code checked} completes; fails when it fails. */
    void start(CompletionStage<?> checked) {
        Runnable cancelTimer = context.time().at(deadlineNanos, this::deadlinePassed);
        var unused = this.whenComplete((admission, failure) -> {
            cancelTimer.run();
            CompletableFuture<?> pending = step;
            if (pending != null) {
                pending.cancel(false);
            }
            if (isCancelled()) {
                leaveAll();
            }
        });
        checked.whenComplete((ok, failure) -> {
            if (failure == null) {
                proceed();
            } else {
                fail(failure);
            }
        });
    }

    /** The rejection in {@code failure}. Any other failure is a bug, and becomes a rejection that admits nothing. */
    static RejectedException rejected(Throwable failure) {
        boolean wrapped = failure instanceof CompletionException || failure instanceof ExecutionException;
        Throwable cause = wrapped && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof RejectedException rejected) {
            return rejected;
        }
        RejectedException unexpected = new Rejection(
                        Reason.MARK_UNAVAILABLE, "the guard failed: " + cause + "; nothing was applied")
                .asException();
        unexpected.initCause(cause);
        return unexpected;
    }

    /** A loop, since a step may complete before it returns. Recursion would need one stack frame for each resource. */
    private void proceed() {
        if (pendingSteps.getAndIncrement() == 0) {
            do {
                enterNext();
            } while (pendingSteps.decrementAndGet() > 0);
        }
    }

    private void enterNext() {
        if (isDone()) {
            leaveAll();
            return;
        }
        if (passed.size() == resources.size()) {
            if (!complete(new Admission(passed, context.counters()))) {
                leaveAll();
            }
            return;
        }
        step = null;
        if (isLate) {
            fail(marksUnknown());
            return;
        }
        Binding resource = resources.get(passed.size());
        try {
            gates.open(resource, sequencer).whenComplete((gate, failure) -> {
                if (failure != null) {
                    fail(failure);
                } else if (isDone()) {
                    leaveAll();
                } else {
                    enter(gate);
                }
            });
        } catch (RuntimeException | Error e) {
            fail(e);
        }
    }

    /** @param gate null, or retired by now: it is opened again */
    private void enter(@Nullable ResourceGate gate) {
        CompletableFuture<AdmittedCall> entering;
        try {
            entering = gate == null ? null : gate.enter(sequencer, access, deadlineNanos);
        } catch (RuntimeException | Error e) {
            fail(e); // Closed meanwhile. No caller catches what a stage's callback throws.
            return;
        }
        if (entering == null) {
            proceed();
            return;
        }
        step = entering;
        var unused = entering.whenComplete((call, failure) -> {
            if (failure == null) {
                passed.add(call);
                proceed();
            } else {
                fail(failure);
            }
        });
        if (isDone()) {
            entering.cancel(false);
        }
    }

    /** Gates have deadlines of their own and return more precise reasons. This one is for the steps before them. */
    private void deadlinePassed() {
        isLate = true;
        if (step == null) {
            fail(marksUnknown());
        }
    }

    private RejectedException marksUnknown() {
        Rejection impairment = context.serving().impairment();
        if (impairment != null) {
            return impairment.asException();
        }
        return new Rejection(
                        Reason.MARK_UNAVAILABLE,
                        "the marks of lock '" + sequencer.lock()
                                + "' were not known in time; nothing was applied: try again")
                .asException();
    }

    private void fail(Throwable failure) {
        completeExceptionally(rejected(failure));
        leaveAll();
    }

    private void leaveAll() {
        passed.forEach(AdmittedCall::ended);
    }
}
