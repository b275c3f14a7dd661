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
 * A call on its way in: one doorway after the other, in sorted order, so that two calls that want the same resources cannot
 * wait for each other. Whatever ends it early, it leaves the doorways that it has passed.
 */
final class Entering extends CompletableFuture<Admission> {
    private final ResourceGates gates;
    private final House house;
    private final Sequencer sequencer;
    private final Access access;
    private final long deadlineNanos;
    private final List<Binding> resources;
    /** Left by whoever ends this early, while another thread may still add to it. */
    private final List<AdmittedCall> passed = new CopyOnWriteArrayList<>();

    private final AtomicInteger due = new AtomicInteger();

    /** The doorway that it stands before; null while what that doorway starts from is being found out. */
    private volatile @Nullable CompletableFuture<?> step;

    private volatile boolean late;

    Entering(
            ResourceGates gates,
            House house,
            Sequencer sequencer,
            Access access,
            long deadlineNanos,
            List<Binding> resources) {
        this.gates = gates;
        this.house = house;
        this.sequencer = sequencer;
        this.access = access;
        this.deadlineNanos = deadlineNanos;
        this.resources = resources;
    }

    /**
     * The same outcome, after {@code first} has seen it: on one future, what its caller waits for or hangs on it may run before. One who
     * ends the answer early ends {@code entering}.
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

    /** Begins when {@code checked} completes; fails as it does. */
    void start(CompletionStage<?> checked) {
        Runnable alarm = house.time().at(deadlineNanos, this::tooLate);
        var unused = this.whenComplete((admission, failure) -> {
            alarm.run();
            CompletableFuture<?> pending = step;
            if (pending != null) {
                pending.cancel(false);
            }
            if (isCancelled()) {
                leave();
            }
        });
        checked.whenComplete((ok, failure) -> {
            if (failure == null) {
                next();
            } else {
                fail(failure);
            }
        });
    }

    /** The reason in {@code failure}; what is no rejection is a bug, and says so without letting the call in. */
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

    /** In a loop, since a step may be over before it returns: many resources must not come to as many stack frames. */
    private void next() {
        if (due.getAndIncrement() == 0) {
            do {
                advance();
            } while (due.decrementAndGet() > 0);
        }
    }

    private void advance() {
        if (isDone()) {
            leave();
            return;
        }
        if (passed.size() == resources.size()) {
            if (!complete(new Admission(passed, house.counters()))) {
                leave();
            }
            return;
        }
        step = null;
        if (late) {
            fail(unknownInTime());
            return;
        }
        Binding resource = resources.get(passed.size());
        try {
            gates.open(resource, sequencer).whenComplete((doorway, failure) -> {
                if (failure != null) {
                    fail(failure);
                } else if (isDone()) {
                    leave();
                } else {
                    enter(doorway);
                }
            });
        } catch (RuntimeException | Error e) {
            fail(e);
        }
    }

    /** @param doorway null, or retired by now: it is opened again */
    private void enter(@Nullable ResourceGate doorway) {
        CompletableFuture<AdmittedCall> entering;
        try {
            entering = doorway == null ? null : doorway.enter(sequencer, access, deadlineNanos);
        } catch (RuntimeException | Error e) {
            fail(e); // Closed meanwhile. A stage's callback has nobody to throw it to.
            return;
        }
        if (entering == null) {
            next();
            return;
        }
        step = entering;
        var unused = entering.whenComplete((call, failure) -> {
            if (failure == null) {
                passed.add(call);
                next();
            } else {
                fail(failure);
            }
        });
        if (isDone()) {
            entering.cancel(false);
        }
    }

    /** Doorways have deadlines of their own and know better reasons; this one is for what comes before them. */
    private void tooLate() {
        late = true;
        if (step == null) {
            fail(unknownInTime());
        }
    }

    private RejectedException unknownInTime() {
        Rejection impairment = house.serving().impairment();
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
        leave();
    }

    private void leave() {
        passed.forEach(AdmittedCall::ended);
    }
}
