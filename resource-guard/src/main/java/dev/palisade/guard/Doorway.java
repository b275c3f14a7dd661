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
 * One resource's {@link AdmissionControl} among threads: the lock round it, the way of its marks to the store, the alarms. It decides
 * nothing. Whoever waited is told on the guard's executor, never on the thread of the call that made room.
 */
final class Doorway implements ResourceGate {
    /** A call at this doorway. */
    static final class Call extends AdmissionRequest implements AdmittedCall {
        private final Doorway doorway;
        private final StopRequest stop = new StopRequest();
        private boolean quarantined;
        private final CompletableFuture<AdmittedCall> answer;
        private Runnable alarm = () -> {};

        private Call(
                Doorway doorway,
                Sequencer sequencer,
                Access access,
                long arrivedAtMillis,
                CompletableFuture<AdmittedCall> answer) {
            super(sequencer, access, arrivedAtMillis);
            this.doorway = doorway;
            this.answer = answer;
        }

        /** The call has ended, with all it started. */
        @Override
        public void ended() {
            boolean known = doorway.change(() -> {
                doorway.admission.ended(this, doorway.house.time().nanos());
                return quarantineOver();
            });
            if (known) {
                doorway.house.quarantineOver(doorway.resource, sequencer(), "known");
            }
        }

        /** Whether it has ended cannot be told any more, unless {@link #ended} says so later. */
        @Override
        public CompletionStage<Void> outcomeUnknown() {
            Time time = doorway.house.time();
            long nanos = doorway.house.quarantineNanos();
            long until = time.nanos() + nanos;
            boolean began = doorway.change(() -> {
                boolean ran = state() == State.RUNNING;
                doorway.admission.outcomeUnknown(this, until);
                quarantined |= ran;
                return ran;
            });
            if (began) {
                doorway.house.quarantineBegan(doorway.resource, sequencer());
            }
            time.at(until, this::overdue);
            return CompletableFuture.completedStage(null); // No other guard admits calls of this resource.
        }

        @Override
        public void callerGone() {
            boolean unused = doorway.change(() -> {
                doorway.admission.callerGone(this);
                return false;
            });
        }

        private void overdue() {
            boolean assumed = doorway.change(() -> {
                doorway.admission.advanceTime(doorway.house.time().nanos());
                return quarantineOver();
            });
            if (assumed) {
                doorway.house.quarantineOver(doorway.resource, sequencer(), "assumed");
            }
        }

        /** Whether it was in quarantine and is no more, which is told once. Within a step of the doorway. */
        private boolean quarantineOver() {
            boolean over = quarantined && state() == State.ENDED;
            quarantined &= !over;
            return over;
        }

        /** Runs {@code what} once if a newer grant waits for this call; at once if one does. */
        @Override
        public void onSuperseded(Runnable what) {
            stop.onMade(what);
        }
    }

    private static final System.Logger LOG = System.getLogger(Doorway.class.getName());

    /** Of calls that nobody waits for. */
    private static final CompletableFuture<AdmittedCall> UNASKED = CompletableFuture.completedFuture(null);

    private final String resource;
    private final String issuer;
    private final LockName lock;
    private final House house;
    private long closedUntilNanos;
    private final AdmissionControl admission;
    private Mark asked;
    private boolean willReopen;
    private boolean retired;

    Doorway(StoredMark stored, long closedUntilNanos, House house) {
        this.resource = stored.resource();
        this.issuer = stored.issuer();
        this.lock = stored.lock();
        this.house = house;
        this.closedUntilNanos = closedUntilNanos;
        this.asked = stored.mark();
        this.admission = new AdmissionControl(
                resource, stored.mark(), stored.raisedAtMillis(), house.time().nanos(), closedUntilNanos);
    }

    boolean isOf(Sequencer sequencer) {
        return lock.equals(sequencer.lock()) && issuer.equals(sequencer.issuer());
    }

    LockName lock() {
        return lock;
    }

    /** The mark as it would be kept. */
    synchronized StoredMark stored() {
        return new StoredMark(resource, issuer, lock, admission.mark(), admission.raisedAtMillis());
    }

    synchronized boolean isIdle() {
        return admission.isIdle();
    }

    /** Closes this doorway for good if nobody is in it and its mark is kept and at most {@code base}. */
    synchronized boolean retire(long base) {
        retired = retired
                || (admission.isIdle()
                        && !admission.mustSave()
                        && admission.mark().highest() <= base);
        return retired;
    }

    /** Closes this doorway for good if nobody is in it. What is kept of its mark is the caller's to drop. */
    synchronized boolean retireIfIdle() {
        retired = retired || admission.isIdle();
        return retired;
    }

    /**
     * Refuses every token up to {@code token}, and starts nobody before {@code untilNanos}.
     *
     * @return completes when that is durable
     */
    CompletionStage<Void> raiseTo(long token, long untilNanos) {
        Time time = house.time();
        change(() -> {
            closedUntilNanos = untilNanos;
            willReopen = true;
            admission.raiseTo(token, untilNanos, time.millis(), time.nanos());
            return true;
        });
        time.at(untilNanos, this::pass);
        return house.store().put(stored());
    }

    /** Lets a call of the grant that is in already pass at once; null when it must take the long way. */
    @Nullable
    Call startAtOnce(Sequencer sequencer, Access access) {
        Call call = new Call(this, sequencer, access, 0, UNASKED);
        synchronized (this) {
            boolean may = !retired
                    && house.serving().refusal() == null
                    && house.store().isHeldForLife();
            return may && admission.tryStart(call) ? call : null;
        }
    }

    /**
     * The long way in. The stage fails with a {@link dev.palisade.contract.RejectedException} at {@code deadlineNanos} at the
     * latest; cancelling it leaves.
     *
     * @return null when this doorway was retired: there is a new one
     */
    @Override
    @Nullable
    public CompletableFuture<AdmittedCall> enter(Sequencer sequencer, Access access, long deadlineNanos) {
        CompletableFuture<AdmittedCall> answer = new CompletableFuture<>();
        Call call = new Call(this, sequencer, access, house.time().millis(), answer);
        boolean arrived = change(() -> arrive(call, deadlineNanos));
        if (!arrived) {
            return null;
        }
        var unused = answer.whenComplete((admitted, failure) -> {
            if (answer.isCancelled()) {
                abandon(call);
            }
        });
        return answer;
    }

    private boolean arrive(Call call, long deadlineNanos) {
        if (retired) {
            return false;
        }
        house.serving().requireOpen();
        Time time = house.time();
        long now = time.nanos();
        admission.arrive(call, now);
        if (call.state() == AdmissionRequest.State.WAITING) {
            call.alarm = time.at(deadlineNanos, () -> abandon(call));
            // By the time that the admission went by: a later one may be past the end, and the call would not be woken.
            if (!willReopen && closedUntilNanos - now > 0) {
                willReopen = true;
                time.at(closedUntilNanos, this::pass);
            }
        }
        return true;
    }

    /** What a guard that only observes does: compares and raises, keeps nobody waiting. */
    @Override
    public Optional<Rejection> observe(Sequencer sequencer, Access access) {
        Call call = new Call(this, sequencer, access, house.time().millis(), UNASKED);
        return change(() -> admission.observe(call));
    }

    private void abandon(Call call) {
        change(() -> {
            admission.abandon(call, house.time().nanos());
            return true;
        });
    }

    /** Asks every call that runs here to stop. */
    void stopAll() {
        change(() -> {
            admission.stopAll();
            return true;
        });
    }

    private void pass() {
        change(() -> {
            admission.advanceTime(house.time().nanos());
            return true;
        });
    }

    /** One step at the admission, and then what follows from it, outside the lock. */
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
            save = !asked.covers(saving) ? house.store().put(stored()) : null;
            asked = saving;
        }
        if (save != null) {
            save.whenComplete((kept, failure) -> change(() -> {
                long now = house.time().nanos();
                if (failure == null) {
                    admission.markSaved(saving, now);
                } else {
                    admission.saveFailed(now);
                }
                return true;
            }));
            var unused = save.whenComplete((kept, failure) -> {
                if (failure != null) {
                    house.storeFailed();
                }
            });
        }
        for (AdmissionRequest request : settled) {
            Call call = (Call) request;
            call.alarm.run();
            hand(() -> tell(call), () -> turnAway(call));
        }
        for (AdmissionRequest request : superseded) {
            house.counters().superseded.increment();
            Runnable told = ((Call) request).stop::make;
            hand(told, told);
        }
        return result;
    }

    /** @param otherwise run here when the executor does not take {@code what}, for want of threads or by its own rules */
    private void hand(Runnable what, Runnable otherwise) {
        try {
            house.executor().execute(what);
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "the guard's executor takes nothing: give it more threads, or a longer queue", e);
            otherwise.run();
        }
    }

    /** Nobody can be found to tell the call: it must not stand in the way of others. */
    private void turnAway(Call call) {
        call.ended();
        call.answer.completeExceptionally(call.rejection()
                .orElseGet(() -> new Rejection(
                        Reason.LIMIT_EXCEEDED,
                        "the guard's executor takes no more calls; nothing was applied: try again later"))
                .asException());
    }

    private void tell(Call call) {
        Optional<Rejection> rejection = call.rejection();
        if (rejection.isPresent()) {
            call.answer.completeExceptionally(rejection.get().asException());
            return;
        }
        Rejection refusal = house.serving().refusal();
        if (refusal != null) {
            call.ended();
            call.answer.completeExceptionally(refusal.asException());
            return;
        }
        CompletableFuture<Void> confirmed = house.store().confirm().toCompletableFuture();
        boolean atOnce = confirmed.isDone();
        var unused = confirmed.whenComplete((owned, failure) -> {
            if (atOnce) {
                answer(call, failure);
            } else {
                // Not on the store's thread: the handler that follows may block, and every mark with it.
                hand(() -> answer(call, failure), () -> turnAway(call));
            }
        });
    }

    private void answer(Call call, @Nullable Throwable failure) {
        if (failure != null) {
            house.storeFailed();
            call.ended();
            call.answer.completeExceptionally(failure);
        } else if (!call.answer.complete(call)) {
            call.ended();
        }
    }
}
