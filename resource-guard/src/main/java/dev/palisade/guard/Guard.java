package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.Doorway.Call;
import dev.palisade.guard.core.Access;
import dev.palisade.guard.core.Binding;
import dev.palisade.guard.core.RefusalCounters;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.MarkStore;
import dev.palisade.guard.mark.StoredMark;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A guard at the door: lets calls in, one grant at a time for each resource, and refuses what carries a stale sequencer.
 * For backends that cannot compare tokens in their own transaction; where they can, {@code dev.palisade.guard.storage} is
 * the better choice. What it rests on, see {@code docs/concepts/fencing.md}: one guard process per resource, no other way to
 * the backend, and the end of every call known, or over after {@link GuardBuilder#unknownEndsAfter}.
 *
 * <p>Refusals, and calls it lost sight of, are told to the {@link System.Logger} {@code dev.palisade.guard.events} at level INFO,
 * a bounded number of lines a second, by the thread of the call: a handler of that log must not block. Turn its level up to
 * hear nothing.
 *
 * <p>Safe for use by any number of threads. Nothing blocks but what says so.
 */
public final class Guard implements AutoCloseable {
    private final SequencerVerifier verifier;
    private final @Nullable LockService lockService;
    private final Doorways doorways;
    private final House house;
    private final MarkOwnership ownership;
    private final GuardRegistrations registrations;
    private final boolean isNamed;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final boolean observeOnly;
    private final Duration waitMax;
    private final int waitingMax;
    private final AtomicInteger waiting = new AtomicInteger();
    private final LongAdder admitted = new LongAdder();
    private final RefusalCounters refusals;

    Guard(GuardBuilder builder) {
        Time time = builder.time == null ? new SystemTime() : builder.time;
        Executor executor = builder.executor == null ? GuardBuilder.threads() : builder.executor;
        Duration unknownEndsAfter = builder.unknownEndsAfter;
        this.verifier = builder.verifier;
        this.lockService = builder.lockService;
        this.observeOnly = builder.observeOnly;
        this.waitMax = builder.waitMax;
        this.waitingMax = builder.waitingMax;
        EventLog events = new EventLog(builder.eventLines, time::nanos, EventLog.LINES_PER_SECOND);
        this.refusals = new RefusalCounters(events, observeOnly);
        this.house = new House(builder.marks, time, executor, events, unknownEndsAfter.toNanos());
        long openedNanos = time.nanos();
        KeptMarks kept = builder.marks.open();
        long now = time.nanos();
        long closedUntil = kept.closedInOrder() ? now : now + unknownEndsAfter.toNanos();
        this.doorways = new Doorways(kept, closedUntil, lockService, builder.marksMax, house);
        this.registrations = new GuardRegistrations(lockService, observeOnly, house, doorways);
        this.ownership = new MarkOwnership(house, doorways, openedNanos, registrations);
        this.isNamed = !builder.protecting.isEmpty();
        ownership.start();
        builder.protecting.forEach(registrations::add);
    }

    /**
     * @param verifier whose sequencers are believed: of {@code KeysetFile.open(path).verifier(issuer)}
     * @param marks where the marks are kept; opened by {@link GuardBuilder#build} and closed with the guard
     */
    public static GuardBuilder builder(SequencerVerifier verifier, MarkStore marks) {
        return new GuardBuilder(verifier, marks);
    }

    /**
     * Waits until the call may use all {@code resources}; blocks. Close the result when the work has ended.
     *
     * @throws RejectedException why it may not; not applied. At the latest after {@link GuardBuilder#waitAtMost}, then DRAINING
     * @throws InterruptedException when interrupted; the call has left
     */
    public Admission enter(SignedSequencer signed, Access access, Binding... resources) throws InterruptedException {
        CompletableFuture<Admission> entering = enterAsync(signed, access, Check.LOCAL, waitMax, resources);
        try {
            return entering.get();
        } catch (InterruptedException e) {
            if (!entering.cancel(false) && !entering.isCompletedExceptionally()) {
                entering.join().close();
            }
            throw e;
        } catch (ExecutionException e) {
            throw Entering.rejected(e);
        }
    }

    /** {@link #enterAsync(SignedSequencer, Access, Check, Duration, Binding...)} by the marks, waiting as long as {@link #enter}. */
    public CompletableFuture<Admission> enterAsync(SignedSequencer signed, Access access, Binding... resources) {
        return enterAsync(signed, access, Check.LOCAL, waitMax, resources);
    }

    /**
     * Lets the call in as soon as it may use all {@code resources}, which are entered in sorted order. Never blocks. A call
     * of the grant that is in already comes back completed; one that had to wait completes on the guard's executor.
     * Cancelling the future that this returns leaves; cancelling one that was derived from it does not.
     *
     * @param wait how long to wait at most for marks to become durable and for older calls to end; shorter than
     *     {@link GuardBuilder#waitAtMost} or cut to it
     * @param resources one or more, all bound to the sequencer's lock
     * @return fails with {@link RejectedException}: SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED, TOKEN_STALE,
     *     LEASE_EXPIRED ({@link Check#ONLINE} only), LIMIT_EXCEEDED, DRAINING, MARK_UNAVAILABLE or STORE_UNAVAILABLE; not
     *     applied
     */
    public CompletableFuture<Admission> enterAsync(
            SignedSequencer signed, Access access, Check check, Duration wait, Binding... resources) {
        if (resources.length == 0) {
            throw new IllegalArgumentException("no resource to enter");
        }
        if (check == Check.ONLINE && lockService == null) {
            throw new IllegalStateException("an ONLINE check needs GuardBuilder.lockService");
        }
        try {
            house.serving().requireOpen();
            Sequencer sequencer = verifier.verify(signed);
            for (Binding resource : resources) {
                resource.require(sequencer, access);
            }
            if (observeOnly) {
                observe(sequencer, access, resources);
                return CompletableFuture.completedFuture(new Admission(List.of()));
            }
            if (resources.length == 1 && check == Check.LOCAL) {
                Doorway doorway = doorways.known(resources[0], sequencer);
                Call call = doorway == null ? null : doorway.startAtOnce(sequencer, access);
                if (call != null) {
                    admitted.increment();
                    return CompletableFuture.completedFuture(new Admission(List.of(call)));
                }
            }
            return enterSlowly(signed, sequencer, access, check, wait, resources);
        } catch (RejectedException e) {
            return mustRefuse(e.rejection())
                    ? CompletableFuture.failedFuture(e)
                    : CompletableFuture.completedFuture(new Admission(List.of()));
        }
    }

    /**
     * Raises the marks and waits until no call of an older grant is in: after it no older call is applied to any of the
     * resources. What {@link #enterAsync} does, without staying. Cancelling leaves.
     */
    public CompletableFuture<Void> claimAsync(SignedSequencer signed, Duration wait, Binding... resources) {
        CompletableFuture<Admission> entering = enterAsync(signed, Access.READ, Check.LOCAL, wait, resources);
        // Closed by a stage of its own: one that the caller cancels does not run any more.
        CompletableFuture<Void> claim = entering.whenComplete((admission, failure) -> {
                    if (admission != null) {
                        admission.close();
                    }
                })
                .thenAccept(closed -> {});
        var unused = claim.whenComplete((done, failure) -> entering.cancel(false));
        return claim;
    }

    /** The mark of a resource, for people; it may be raised the next moment. */
    public Optional<StoredMark> mark(String resource) {
        return doorways.mark(resource);
    }

    /**
     * For whoever finds out before it can ask the guard that a call must be refused, such as for want of a sequencer: counts
     * it and tells operators.
     *
     * @return false when the guard only observes, and the call goes on
     */
    public boolean mustRefuse(Rejection rejection) {
        refusals.add(rejection);
        return !observeOnly;
    }

    /** Whether this guard lets everything in and only counts: {@link GuardBuilder#observeOnly}. */
    public boolean observesOnly() {
        return observeOnly;
    }

    /** Whether {@link Check#ONLINE} can be asked for: {@link GuardBuilder#lockService}. */
    public boolean hasLockService() {
        return lockService != null;
    }

    /**
     * Registers {@code name} at the lock service as what this guard protects, unless {@link GuardBuilder#protecting} gave
     * names: called by interceptors, with the full names of the services that they guard. The same name again does nothing.
     *
     * @param name see {@link GuardBuilder#protecting}
     */
    public void protects(String name) {
        if (!isNamed) {
            registrations.add(GuardBuilder.checkedName(name));
        }
    }

    /**
     * Whether this guard owns its marks and may admit calls: false until the lock service has answered its registration,
     * while the registration is refused, and once its marks were taken over, its mark store failed, or it was closed. The
     * health of the guarded service should follow it: {@link #onServingChange}.
     */
    public boolean isServing() {
        return house.serving().isServing();
    }

    /**
     * Notifies {@code listener} of {@link #isServing}: at once, and at each change, in order. It runs on a thread of the
     * guard's or of its lock service's and must not block.
     */
    public void onServingChange(Consumer<Boolean> listener) {
        house.serving().onChange(listener);
    }

    /**
     * Why the guard does not serve, for health details; empty while {@link #isServing}. Unless {@link #refusesEveryCall}, a
     * call is refused so only when it has waited in vain.
     */
    public Optional<Rejection> refusal() {
        return Optional.ofNullable(house.serving().impairment());
    }

    /** Whether every call is refused at once and those that run were asked to stop, for the reason in {@link #refusal}. */
    public boolean refusesEveryCall() {
        return house.serving().refusal() != null;
    }

    /** Counts, for metrics. */
    public GuardStats stats() {
        return new GuardStats(admitted.sum(), refusals.refused(), refusals.wouldRefuse(), waiting.get());
    }

    /**
     * Lets nobody in any more and gives the mark store up. Call it when the calls have ended; the next start then waits for
     * nobody. Otherwise it waits for {@link GuardBuilder#unknownEndsAfter}.
     */
    @Override
    public void close() {
        if (!closed.getAndSet(true)) {
            house.serving().close();
            ownership.end();
            boolean idle = doorways.areIdle();
            house.store().close(idle);
            awaitBriefly(registrations.end(idle));
            house.time().stop();
        }
    }

    /** The lock service answers in bounded time; a registration that is not ended lapses. */
    private static void awaitBriefly(CompletionStage<Void> ended) {
        try {
            ended.toCompletableFuture().get(2, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // It lapses.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private CompletableFuture<Admission> enterSlowly(
            SignedSequencer signed,
            Sequencer sequencer,
            Access access,
            Check check,
            Duration wait,
            Binding[] resources) {
        Duration patience = wait.compareTo(waitMax) > 0 ? waitMax : wait.isNegative() ? Duration.ZERO : wait;
        if (waiting.incrementAndGet() > waitingMax) {
            waiting.decrementAndGet();
            throw new Rejection(
                            Reason.LIMIT_EXCEEDED,
                            waitingMax + " calls wait at this guard already; nothing was applied: try again later")
                    .with(Rejection.LIMIT, "waitingMax")
                    .asException();
        }
        List<Binding> sorted = Arrays.stream(resources)
                .distinct()
                .sorted(Comparator.comparing(Binding::resource))
                .toList();
        Entering entering =
                new Entering(doorways, house, sequencer, access, house.time().nanos() + patience.toNanos(), sorted);
        var unused = entering.whenComplete((admission, failure) -> {
            waiting.decrementAndGet();
            if (failure == null) {
                admitted.increment();
            } else if (!entering.isCancelled()) {
                refusals.add(Entering.rejected(failure).rejection());
            }
        });
        entering.start(registrations.answered().thenCompose(answered -> {
            house.serving().requireOpen();
            return check == Check.ONLINE && lockService != null
                    ? online(lockService, signed, sequencer)
                    : CompletableFuture.completedStage(null);
        }));
        return entering;
    }

    private static CompletionStage<Void> online(LockService lockService, SignedSequencer signed, Sequencer sequencer) {
        return CompletableFuture.completedStage(signed)
                .thenCompose(lockService::isAlive)
                .thenAccept(alive -> {
                    if (!alive) {
                        throw new Rejection(
                                        Reason.LEASE_EXPIRED,
                                        "the lock service knows no live lease of token " + sequencer.token()
                                                + " on lock '" + sequencer.lock()
                                                + "'; nothing was applied: acquire again")
                                .asException();
                    }
                });
    }

    private void observe(Sequencer sequencer, Access access, Binding[] resources) {
        for (Binding resource : resources) {
            doorways.open(resource, sequencer).whenComplete((doorway, failure) -> {
                if (failure != null) {
                    refusals.add(Entering.rejected(failure).rejection());
                } else if (doorway != null) {
                    doorway.observe(sequencer, access).ifPresent(refusals::add);
                }
            });
        }
    }
}
