package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.guard.RegisterRows.State;
import dev.palisade.guard.RegisterStore.FailedException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Gates of a guard that shares a {@link SharedRegister}. Keeps the waiting period of a new register, or of one whose
 * marks were raised, and requests base marks. Once a second it checks whether newer grants, at any guard, wait for
 * calls that run here.
 */
final class SharedGates implements ResourceGates {
    private static final long WATCH_NANOS = 1_000_000_000;

    private record Missing(String issuer, int domain, long epoch) {}

    private final GuardContext context;
    private final SharedRegister register;
    private final @Nullable LockService lockService;
    private final Map<String, SharedGate> gates = new ConcurrentHashMap<>();
    private final Map<Missing, CompletableFuture<Void>> bases = new HashMap<>();
    private long basesMade;
    private final boolean complete;
    private final boolean empty;
    private boolean settled;
    private boolean entered;
    private long epoch;
    private long closedUntilNanos;

    SharedGates(KeptMarks kept, SharedRegister register, @Nullable LockService lockService, GuardContext context) {
        this.context = context;
        this.register = register;
        this.lockService = lockService;
        this.complete = kept.complete();
        this.settled = kept.closedInOrder();
        this.empty = register.wasEmpty();
        this.epoch = register.openedEpoch();
        long now = context.time().nanos();
        this.closedUntilNanos = settled ? now : now + deltaNanos();
        register.onLeave(this::left);
        watchLater();
    }

    /** Calls of another guard have ended at {@code resource}. */
    private void left(String resource) {
        SharedGate gate = gates.get(resource);
        if (gate != null) {
            gate.recheckWaiting();
        }
    }

    @Override
    public synchronized CompletionStage<SharedGate> open(Binding binding, Sequencer sequencer) {
        entered = true;
        return CompletableFuture.completedStage(gates.computeIfAbsent(
                binding.resource(), resource -> new SharedGate(resource, this, context, register)));
    }

    /** A call in a shared register always needs a step of the register. */
    @Override
    public @Nullable AdmittedCall tryEnter(Binding binding, Sequencer sequencer, Access access) {
        return null;
    }

    /** Whether no call may start yet under {@code state}. */
    synchronized boolean isClosed(State state) {
        return state.epoch() == epoch ? closedUntilNanos - context.time().nanos() > 0 : !state.isSettled();
    }

    /** Begins the waiting period of an epoch that is seen for the first time, by the state that a step found. */
    void adopt(State state) {
        synchronized (this) {
            if (state.epoch() <= epoch) {
                return;
            }
            long now = context.time().nanos();
            epoch = state.epoch();
            settled = state.isSettled();
            closedUntilNanos =
                    settled ? now : now + Math.max(context.quarantineNanos(), state.waitMillis() * 1_000_000);
        }
        stopAll();
    }

    @Override
    public int marks() {
        return gates.size();
    }

    @Override
    public boolean areIdle() {
        return gates.values().stream().allMatch(SharedGate::isIdle);
    }

    private long deltaNanos() {
        return Math.max(context.quarantineNanos(), register.waitNanos());
    }

    /** The register has the calls that other guards admitted. */
    @Override
    public boolean isWaitOver() {
        return true;
    }

    @Override
    public synchronized boolean isUnused() {
        return empty && !complete && !settled && !entered;
    }

    @Override
    public synchronized boolean isNeverUsed() {
        return empty && complete && !entered;
    }

    @Override
    public CompletionStage<Void> raiseAll() {
        stopAll();
        return register.forgetMarks();
    }

    @Override
    public synchronized void waitForOthers() {
        closedUntilNanos = context.time().nanos() + deltaNanos();
    }

    @Override
    public synchronized boolean waitForOthersIfUnused() {
        boolean unused = isUnused();
        if (unused) {
            waitForOthers();
        }
        return unused;
    }

    @Override
    public void stopAll() {
        gates.values().forEach(SharedGate::stopAll);
    }

    @Override
    public Optional<StoredMark> mark(String resource) {
        SharedGate gate = gates.get(resource);
        return gate == null ? Optional.empty() : gate.seen();
    }

    /** How many base marks this guard has made so far. */
    synchronized long basesMade() {
        return basesMade;
    }

    /**
     * Stores a barrier token as the base mark of the sequencer's domain, unless another guard was first.
     *
     * @param madeBefore {@link #basesMade} before the step that found none: a later base mark may be the one that it missed
     */
    synchronized CompletionStage<Void> makeBase(Sequencer sequencer, long epoch, long madeBefore) {
        if (basesMade != madeBefore) {
            return CompletableFuture.completedStage(null);
        }
        Missing missing = new Missing(sequencer.issuer(), sequencer.lock().domain(), epoch);
        CompletableFuture<Void> pending = bases.get(missing);
        if (pending != null) {
            return pending;
        }
        CompletableFuture<Void> made = barrier(sequencer)
                .thenAcceptAsync(token -> keep(missing, token), register::execute)
                .toCompletableFuture();
        bases.put(missing, made);
        var unused = made.whenComplete((done, failure) -> forget(missing, failure == null));
        return made;
    }

    private synchronized void forget(Missing missing, boolean made) {
        bases.remove(missing);
        basesMade += made ? 1 : 0;
    }

    private CompletionStage<Long> barrier(Sequencer sequencer) {
        if (lockService == null) {
            return CompletableFuture.failedStage(new Rejection(
                            Reason.MARK_UNAVAILABLE,
                            "the shared register has no mark of lock '" + sequencer.lock()
                                    + "' and there is no lock service to ask for a barrier token; nothing was applied")
                    .asException());
        }
        // In a stage: a lock service that throws would end the step that asks.
        return CompletableFuture.completedStage(sequencer.lock()).thenCompose(lockService::barrier);
    }

    private void keep(Missing missing, long token) {
        try {
            register.transact(rows -> {
                rows.putBase(new BaseMark(missing.issuer(), missing.domain(), token), missing.epoch());
                return true;
            });
        } catch (FailedException e) {
            if (!e.violatesConstraint()) { // Otherwise another guard was first.
                throw SharedRegister.unavailable(e);
            }
        }
    }

    private void watchLater() {
        context.time().at(context.time().nanos() + WATCH_NANOS, this::watch);
    }

    private void watch() {
        gates.values().removeIf(SharedGate::retireIfDone);
        Map<String, List<SharedCall>> running = new HashMap<>();
        gates.forEach((resource, gate) -> {
            List<SharedCall> calls = gate.registered();
            if (!calls.isEmpty()) {
                running.put(resource, calls);
            }
        });
        if (running.isEmpty()) {
            watchLater();
            return;
        }
        try {
            register.execute(() -> {
                stopSuperseded(running);
                watchLater();
            });
        } catch (RuntimeException e) {
            // Closed: the watch ends.
        }
    }

    private void stopSuperseded(Map<String, List<SharedCall>> running) {
        try {
            Map<String, Mark> marks = register.transact(rows -> rows.marksOfCalls(register.guard(), running.keySet()));
            running.forEach((resource, calls) -> {
                Mark mark = marks.get(resource);
                for (SharedCall call : calls) {
                    if (mark != null && mark.judge("", call.sequencer(), call.access()) instanceof Verdict.Refused) {
                        call.superseded();
                    }
                }
            });
        } catch (FailedException | RuntimeException | Error e) {
            // Retried a second later.
        }
    }
}
