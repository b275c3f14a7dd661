package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.MarkStore.StoredMark;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Gate of one resource in a guard with marks of its own: a thread-safe wrapper of {@link AdmissionControl}, with
 * timers and a mark store. It decides nothing. Waiting calls are completed on the guard's executor, never on the
 * thread of the call that unblocked them.
 */
final class LocalGate implements ResourceGate {
    /** A call at this gate. */
    static final class Call extends AdmissionRequest implements AdmittedCall {
        private final LocalGate gate;
        private final StopRequest stop = new StopRequest();
        private boolean quarantined;
        private final CompletableFuture<AdmittedCall> result;
        private Runnable cancelTimer = () -> {};

        private Call(
                LocalGate gate,
                Sequencer sequencer,
                Access access,
                long arrivedAtMillis,
                CompletableFuture<AdmittedCall> result) {
            super(sequencer, access, arrivedAtMillis);
            this.gate = gate;
            this.result = result;
        }

        @Override
        public void ended() {
            boolean known = gate.change(() -> {
                gate.admission.ended(this, gate.context.time().nanos());
                return takeQuarantineEnd();
            });
            if (known) {
                gate.context.quarantineOver(gate.resource, sequencer(), "known");
            }
        }

        @Override
        public CompletionStage<Void> outcomeUnknown() {
            Time time = gate.context.time();
            long nanos = gate.context.quarantineNanos();
            long until = time.nanos() + nanos;
            boolean began = gate.change(() -> {
                boolean ran = state() == State.RUNNING;
                gate.admission.outcomeUnknown(this, until);
                quarantined |= ran;
                return ran;
            });
            if (began) {
                gate.context.quarantineBegan(gate.resource, sequencer());
            }
            time.at(until, this::quarantineElapsed);
            return CompletableFuture.completedStage(null); // No other guard admits calls of this resource.
        }

        @Override
        public void callerGone() {
            boolean unused = gate.change(() -> {
                gate.admission.callerGone(this);
                return false;
            });
        }

        private void quarantineElapsed() {
            boolean assumed = gate.change(() -> {
                gate.admission.advanceTime(gate.context.time().nanos());
                return takeQuarantineEnd();
            });
            if (assumed) {
                gate.context.quarantineOver(gate.resource, sequencer(), "assumed");
            }
        }

        /** Whether its quarantine has ended. True once. Called under the lock of the gate. */
        private boolean takeQuarantineEnd() {
            boolean over = quarantined && state() == State.ENDED;
            quarantined &= !over;
            return over;
        }

        @Override
        public void onSuperseded(Runnable what) {
            stop.onMade(what);
        }
    }

    private static final System.Logger LOG = System.getLogger(LocalGate.class.getName());

    /** For requests that do not wait. */
    private static final CompletableFuture<AdmittedCall> NO_RESULT = CompletableFuture.completedFuture(null);

    private final String resource;
    private final String issuer;
    private final LockName lock;
    private final GuardContext context;
    private long closedUntilNanos;
    private final AdmissionControl admission;
    private Mark requestedMark;
    private boolean reopenScheduled;
    private boolean retired;

    LocalGate(StoredMark stored, long closedUntilNanos, GuardContext context) {
        this.resource = stored.resource();
        this.issuer = stored.issuer();
        this.lock = stored.lock();
        this.context = context;
        this.closedUntilNanos = closedUntilNanos;
        this.requestedMark = stored.mark();
        this.admission = new AdmissionControl(
                resource, stored.mark(), stored.raisedAtMillis(), context.time().nanos(), closedUntilNanos);
    }

    boolean isOf(Sequencer sequencer) {
        return lock.equals(sequencer.lock()) && issuer.equals(sequencer.issuer());
    }

    LockName lock() {
        return lock;
    }

    /** The mark in the form in which it is stored. */
    synchronized StoredMark stored() {
        return new StoredMark(resource, issuer, lock, admission.mark(), admission.raisedAtMillis());
    }

    synchronized boolean isIdle() {
        return admission.isIdle();
    }

    /** Closes this gate permanently if it is idle and its mark is durable and at most {@code base}. */
    synchronized boolean retire(long base) {
        retired = retired
                || (admission.isIdle()
                        && !admission.mustSave()
                        && admission.mark().highest() <= base);
        return retired;
    }

    /** Closes this gate permanently if it is idle. The caller drops its stored mark. */
    synchronized boolean retireIfIdle() {
        retired = retired || admission.isIdle();
        return retired;
    }

    /**
     * Refuses every token up to {@code token}, and starts no call before {@code untilNanos}.
     *
     * @return completes when that is durable
     */
    CompletionStage<Void> raiseTo(long token, long untilNanos) {
        Time time = context.time();
        change(() -> {
            closedUntilNanos = untilNanos;
            reopenScheduled = true;
            admission.raiseTo(token, untilNanos, time.millis(), time.nanos());
            return true;
        });
        time.at(untilNanos, this::advanceTime);
        return context.store().put(stored());
    }

    /**
     * Fast path for a further call of the grant that runs already. Returns null if the call must use {@link #enter}.
     */
    @Nullable
    Call tryStart(Sequencer sequencer, Access access) {
        Call call = new Call(this, sequencer, access, 0, NO_RESULT);
        synchronized (this) {
            boolean may = !retired
                    && context.serving().refusal() == null
                    && context.store().isHeldForLife();
            return may && admission.tryStart(call) ? call : null;
        }
    }

    @Override
    @Nullable
    public CompletableFuture<AdmittedCall> enter(Sequencer sequencer, Access access, long deadlineNanos) {
        CompletableFuture<AdmittedCall> result = new CompletableFuture<>();
        Call call = new Call(this, sequencer, access, context.time().millis(), result);
        boolean arrived = change(() -> arrive(call, deadlineNanos));
        if (!arrived) {
            return null;
        }
        var unused = result.whenComplete((admitted, failure) -> {
            if (result.isCancelled()) {
                abandon(call);
            }
        });
        return result;
    }

    private boolean arrive(Call call, long deadlineNanos) {
        if (retired) {
            return false;
        }
        context.serving().requireOpen();
        Time time = context.time();
        long now = time.nanos();
        admission.arrive(call, now);
        if (call.state() == AdmissionRequest.State.WAITING) {
            call.cancelTimer = time.at(deadlineNanos, () -> abandon(call));
            // Compared with the time that admission control used: a later one may be past the end, and set no timer.
            if (!reopenScheduled && closedUntilNanos - now > 0) {
                reopenScheduled = true;
                time.at(closedUntilNanos, this::advanceTime);
            }
        }
        return true;
    }

    @Override
    public Optional<Rejection> observe(Sequencer sequencer, Access access) {
        Call call = new Call(this, sequencer, access, context.time().millis(), NO_RESULT);
        return change(() -> admission.observe(call));
    }

    private void abandon(Call call) {
        change(() -> {
            admission.abandon(call, context.time().nanos());
            return true;
        });
    }

    /** Requests every running call to stop. */
    void stopAll() {
        change(() -> {
            admission.stopAll();
            return true;
        });
    }

    private void advanceTime() {
        change(() -> {
            admission.advanceTime(context.time().nanos());
            return true;
        });
    }

    /** Runs one step of admission control under the lock, and its consequences outside of the lock. */
    private <T> T change(Supplier<T> step) {
        T result;
        List<AdmissionRequest> settled;
        List<AdmissionRequest> superseded;
        Mark saving;
        CompletionStage<Void> save;
        synchronized (this) {
            result = step.get();
            settled = admission.takeSettled();
            superseded = admission.takeSuperseded();
            saving = admission.mark();
            save = !requestedMark.covers(saving) ? context.store().put(stored()) : null;
            requestedMark = saving;
        }
        if (save != null) {
            save.whenComplete((kept, failure) -> change(() -> {
                long now = context.time().nanos();
                if (failure == null) {
                    admission.markSaved(saving, now);
                } else {
                    admission.saveFailed(now);
                }
                return true;
            }));
            var unused = save.whenComplete((kept, failure) -> {
                if (failure != null) {
                    context.storeFailed();
                }
            });
        }
        for (AdmissionRequest request : settled) {
            Call call = (Call) request;
            call.cancelTimer.run();
            execute(() -> settle(call), () -> rejectUnexecuted(call));
        }
        for (AdmissionRequest request : superseded) {
            context.counters().superseded.increment();
            Runnable stop = ((Call) request).stop::make;
            execute(stop, stop);
        }
        return result;
    }

    /** @param otherwise runs on this thread when the executor rejects {@code what} */
    private void execute(Runnable what, Runnable otherwise) {
        try {
            context.executor().execute(what);
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "the guard's executor takes nothing: give it more threads, or a longer queue", e);
            otherwise.run();
        }
    }

    /** The executor rejected the call: the call must not block others. */
    private void rejectUnexecuted(Call call) {
        call.ended();
        call.result.completeExceptionally(call.rejection()
                .orElseGet(() -> new Rejection(
                        Reason.LIMIT_EXCEEDED,
                        "the guard's executor takes no more calls; nothing was applied: try again later"))
                .asException());
    }

    private void settle(Call call) {
        Optional<Rejection> rejection = call.rejection();
        if (rejection.isPresent()) {
            call.result.completeExceptionally(rejection.get().asException());
            return;
        }
        Rejection refusal = context.serving().refusal();
        if (refusal != null) {
            call.ended();
            call.result.completeExceptionally(refusal.asException());
            return;
        }
        CompletableFuture<Void> confirmed = context.store().confirm().toCompletableFuture();
        boolean atOnce = confirmed.isDone();
        var unused = confirmed.whenComplete((owned, failure) -> {
            if (atOnce) {
                complete(call, failure);
            } else {
                // Not on the store's thread: the handler that follows may block, and every mark with it.
                execute(() -> complete(call, failure), () -> rejectUnexecuted(call));
            }
        });
    }

    private void complete(Call call, @Nullable Throwable failure) {
        if (failure != null) {
            context.storeFailed();
            call.ended();
            call.result.completeExceptionally(failure);
        } else if (!call.result.complete(call)) {
            call.ended();
        }
    }
}
