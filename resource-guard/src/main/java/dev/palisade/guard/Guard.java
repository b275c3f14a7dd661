package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.Texts;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.MarkStore.StoredMark;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Guard in front of a service: admits calls, one grant at a time for each resource, and refuses calls with a stale
 * sequencer. For backends that cannot compare tokens in their own transaction; where they can, {@link FencedJdbc} is
 * the better choice. Its assumptions are in {@code docs/concepts/fencing.md}: one guard process per resource, or
 * several that share one register ({@link MarkStore#shared}); no other way to the backend; and the end of every call
 * known, or over after {@link Builder#unknownOutcomeTimeout}.
 *
 * <p>Logs refusals, and calls with an unknown outcome, to the {@link System.Logger} {@code
 * dev.palisade.guard.events} at level INFO. Logs a bounded number of lines a second, on the thread of the call: a
 * handler of that log must not block. A higher level of that logger turns these lines off.
 *
 * <p>Safe for use by any number of threads. Only methods that say so block.
 */
public final class Guard implements AutoCloseable {
    private final SequencerVerifier verifier;
    private final @Nullable LockService lockService;
    private final ResourceGates gates;
    private final GuardContext context;
    private final MarkOwnership ownership;
    private final GuardRegistrations registrations;
    private final boolean isNamed;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final boolean observeOnly;
    private final Duration maxWait;
    private final int maxWaitingCalls;
    private final AtomicInteger waiting = new AtomicInteger();
    private final ArrivalObservers observers = new ArrivalObservers();
    private final RefusalCounters refusals;
    private final @Nullable RefusalReporter reporter;

    Guard(Builder builder) {
        Time time = builder.time == null ? new SystemTime() : builder.time;
        Executor executor = builder.executor == null ? threads() : builder.executor;
        Duration unknownOutcomeTimeout = builder.unknownOutcomeTimeout;
        this.verifier = builder.verifier;
        this.lockService = builder.lockService;
        this.observeOnly = builder.observeOnly;
        this.maxWait = builder.maxWait;
        this.maxWaitingCalls = builder.maxWaitingCalls;
        EventLog events = new EventLog(builder.eventLines, time::nanos, EventLog.LINES_PER_SECOND);
        this.context = new GuardContext(builder.marks, time, executor, events, unknownOutcomeTimeout.toNanos());
        this.reporter = lockService == null
                ? null
                : new RefusalReporter(lockService, context.time(), context.events(), this::shownName);
        this.refusals = new RefusalCounters(events, observeOnly, reporter == null ? refused -> {} : reporter::add);
        SharedRegister register = builder.marks instanceof SharedRegister shared ? shared : null;
        if (register != null) {
            register.join(new SharedRegister.Member(
                    time::nanos,
                    unknownOutcomeTimeout,
                    builder.takeOverAfterLease,
                    GuardRegistrations.process(),
                    (event, message) -> context.warn(event, new Rejection(Reason.MARK_UNAVAILABLE, message))));
        }
        long openedNanos = time.nanos();
        KeptMarks kept = builder.marks.open();
        this.gates = register != null
                ? new SharedGates(kept, register, lockService, context)
                : gates(kept, builder.maxMarks);
        this.registrations = new GuardRegistrations(lockService, observeOnly, kept.registrations(), context, gates);
        long delta = unknownOutcomeTimeout.toNanos();
        this.ownership = register != null
                ? new MarkOwnership(
                        context,
                        gates,
                        openedNanos,
                        registrations,
                        register.leaseNanos(),
                        register.leaseNanos() + delta)
                : new MarkOwnership(context, gates, openedNanos, registrations, delta / 2, delta);
        this.isNamed = !builder.protecting.isEmpty();
        ownership.start();
        builder.protecting.forEach(registrations::add);
    }

    /** For people, in reports. */
    private String shownName() {
        return registrations.shown();
    }

    private LocalGates gates(KeptMarks kept, int maxMarks) {
        long now = context.time().nanos();
        long closedUntil = kept.closedInOrder() ? now : now + context.quarantineNanos();
        return new LocalGates(kept, closedUntil, lockService, maxMarks, context);
    }

    /**
     * @param verifier whose sequencers are believed: of {@code KeysetFile.open(path).verifier(issuer)}
     * @param marks where the marks are kept; opened by {@link Builder#build} and closed with the guard
     */
    public static Builder builder(SequencerVerifier verifier, MarkStore marks) {
        return new Builder(verifier, marks);
    }

    /**
     * Waits until the call may use all {@code resources}; blocks. Close the result when the work has ended.
     *
     * @throws RejectedException why it may not; not applied. At the latest after {@link Builder#maxWait}, then DRAINING
     * @throws InterruptedException when interrupted; the call has left
     */
    public Admission enter(SignedSequencer signed, Access access, Binding... resources) throws InterruptedException {
        CompletableFuture<Admission> entering = enterAsync(signed, access, Check.LOCAL, maxWait, resources);
        try {
            return entering.get();
        } catch (InterruptedException e) {
            if (!entering.cancel(false) && !entering.isCompletedExceptionally()) {
                entering.join().close();
            }
            throw e;
        } catch (ExecutionException e) {
            throw MultiAdmission.rejected(e);
        }
    }

    /** {@link #enterAsync(SignedSequencer, Access, Check, Duration, Binding...)} by the marks, waiting as long as {@link #enter}. */
    public CompletableFuture<Admission> enterAsync(SignedSequencer signed, Access access, Binding... resources) {
        return enterAsync(signed, access, Check.LOCAL, maxWait, resources);
    }

    /**
     * Admits the call as soon as it may use all {@code resources}, which are entered in sorted order. Never blocks. For a
     * call of the grant that runs already the result is complete; for one that had to wait it completes on the guard's
     * executor. Cancelling the result withdraws the call; cancelling a future that was derived from it does not.
     *
     * @param wait how long to wait at most for marks to become durable and for older calls to end; shorter than
     *     {@link Builder#maxWait} or cut to it
     * @param resources one or more, all bound to the sequencer's lock
     * @return fails with {@link RejectedException}: SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED, TOKEN_STALE,
     *     LEASE_EXPIRED ({@link Check#ONLINE} only), LIMIT_EXCEEDED, DRAINING, MARK_UNAVAILABLE or STORE_UNAVAILABLE; not
     *     applied
     */
    public CompletableFuture<Admission> enterAsync(
            SignedSequencer signed, Access access, Check check, Duration wait, Binding... resources) {
        return enterAsync(signed, access, check, wait, Map::of, resources);
    }

    /**
     * {@link #enterAsync(SignedSequencer, Access, Check, Duration, Binding...)} of a call that the log shows when it is refused.
     *
     * @param caller names and values that tell an operator which call of which sender it was, such as its method and path, in the
     *     order in which the log has them; asked for only when the call is refused
     */
    public CompletableFuture<Admission> enterAsync(
            SignedSequencer signed,
            Access access,
            Check check,
            Duration wait,
            Supplier<Map<String, String>> caller,
            Binding... resources) {
        if (resources.length == 0) {
            throw new IllegalArgumentException("no resource to enter");
        }
        if (check == Check.ONLINE && lockService == null) {
            throw new IllegalStateException("an ONLINE check needs Guard.Builder.lockService");
        }
        return observers.arriving(
                signed, access, List.of(resources), () -> entering(signed, access, check, wait, caller, resources));
    }

    private CompletableFuture<Admission> entering(
            SignedSequencer signed,
            Access access,
            Check check,
            Duration wait,
            Supplier<Map<String, String>> caller,
            Binding... resources) {
        try {
            context.serving().requireOpen();
            Sequencer sequencer = verifier.verify(signed);
            for (Binding resource : resources) {
                resource.require(sequencer, access);
            }
            if (observeOnly) {
                observe(sequencer, access, caller, resources);
                return CompletableFuture.completedFuture(new Admission(List.of()));
            }
            if (resources.length == 1 && check == Check.LOCAL) {
                AdmittedCall call = gates.tryEnter(resources[0], sequencer, access);
                if (call != null) {
                    context.counters().admitted.increment();
                    return CompletableFuture.completedFuture(new Admission(List.of(call), context.counters()));
                }
            }
            return enterOrWait(signed, sequencer, access, check, wait, caller, resources);
        } catch (RejectedException e) {
            refusals.add(e.rejection(), caller.get());
            return observeOnly
                    ? CompletableFuture.completedFuture(new Admission(List.of()))
                    : CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Raises the marks and waits until no call of an older grant runs: after it no older call is applied to any of
     * the resources. Like {@link #enterAsync}, but the admission ends at once. Cancelling the result withdraws the
     * call.
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
        return gates.mark(resource);
    }

    /**
     * Counts and logs a refusal that was decided outside the guard, such as for want of a sequencer.
     *
     * @return false when the guard only observes, and the call goes on
     */
    public boolean recordRefusal(Rejection rejection) {
        return recordRefusal(rejection, Map.of());
    }

    /**
     * {@link #recordRefusal(Rejection)} of a call that the log shows.
     *
     * @param caller as in {@link #enterAsync(SignedSequencer, Access, Check, Duration, Supplier, Binding...)}
     * @return false when the guard only observes, and the call goes on
     */
    public boolean recordRefusal(Rejection rejection, Map<String, String> caller) {
        refusals.add(rejection, caller);
        observers.refused(rejection);
        return !observeOnly;
    }

    /** Whether this guard admits every call and only counts: {@link Builder#observeOnly}. */
    public boolean observesOnly() {
        return observeOnly;
    }

    /** Whether {@link Check#ONLINE} can be asked for: {@link Builder#lockService}. */
    public boolean hasLockService() {
        return lockService != null;
    }

    /**
     * Registers {@code name} at the lock service as what this guard protects, unless {@link Builder#protecting} gave
     * names: called by interceptors, with the full names of the services that they guard. The same name again does nothing.
     *
     * @param name see {@link Builder#protecting}
     */
    public void protects(String name) {
        if (!isNamed) {
            registrations.add(Builder.checkedName(name));
        }
    }

    /**
     * Whether this guard owns its marks and may admit calls: false until the lock service has answered its registration,
     * while the registration is refused, and once its marks were taken over, its mark store failed, or it was closed. The
     * health of the guarded service should follow it: {@link #onServingChange}.
     */
    public boolean isServing() {
        return context.serving().isServing();
    }

    /**
     * Notifies {@code listener} of {@link #isServing}: at once, and at each change, in order. It runs on a thread of the
     * guard's or of its lock service's and must not block.
     */
    public void onServingChange(Consumer<Boolean> listener) {
        context.serving().onChange(listener);
    }

    /**
     * Why the guard does not serve, for health details; empty while {@link #isServing}. Unless {@link #refusesEveryCall}, a
     * call is refused so only when it has waited in vain.
     */
    public Optional<Rejection> refusal() {
        return Optional.ofNullable(context.serving().impairment());
    }

    /** Whether every call is refused at once and running calls were requested to stop, for the reason in {@link #refusal}. */
    public boolean refusesEveryCall() {
        return context.serving().refusal() != null;
    }

    /** Counts, for metrics. */
    public GuardStats stats() {
        GuardCounters counters = context.counters();
        return new GuardStats(
                counters.admitted.sum(),
                refusals.refused(),
                refusals.wouldRefuse(),
                waiting.get(),
                counters.running(),
                counters.superseded.sum(),
                counters.quarantinesBegun.sum(),
                counters.quarantined(),
                gates.marks(),
                context.events().notShown());
    }

    /** Notifies {@code observer} of each call from now on, for as long as this guard lives. */
    public void observe(Admission.Observer observer) {
        observers.add(observer);
    }

    /**
     * Admits no more calls and gives the mark store up. Call it when the calls have ended; the next start then has no waiting
     * period. Otherwise it waits for {@link Builder#unknownOutcomeTimeout}, also when this guard was still waiting so.
     */
    @Override
    public void close() {
        if (!closed.getAndSet(true)) {
            context.serving().close();
            if (reporter != null) {
                reporter.close();
            }
            ownership.end();
            // Before that wait is over, calls of another guard or of a killed one may still run.
            boolean idle = gates.areIdle() && gates.isWaitOver();
            context.store().close(idle);
            awaitBriefly(registrations.end(idle));
            context.time().stop();
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

    private CompletableFuture<Admission> enterOrWait(
            SignedSequencer signed,
            Sequencer sequencer,
            Access access,
            Check check,
            Duration wait,
            Supplier<Map<String, String>> caller,
            Binding[] resources) {
        Duration timeout = wait.compareTo(maxWait) > 0 ? maxWait : wait.isNegative() ? Duration.ZERO : wait;
        if (waiting.incrementAndGet() > maxWaitingCalls) {
            waiting.decrementAndGet();
            throw new Rejection(
                            Reason.LIMIT_EXCEEDED,
                            maxWaitingCalls + " calls wait at this guard already; nothing was applied: try again later")
                    .with(Rejection.LIMIT, "maxWaitingCalls")
                    .asException();
        }
        List<Binding> sorted = Arrays.stream(resources)
                .distinct()
                .sorted(Comparator.comparing(Binding::resource))
                .toList();
        MultiAdmission entering = new MultiAdmission(
                gates, context, sequencer, access, context.time().nanos() + timeout.toNanos(), sorted);
        CompletableFuture<Admission> answer = MultiAdmission.answerAfter(entering, (admission, failure) -> {
            waiting.decrementAndGet();
            if (failure == null) {
                context.counters().admitted.increment();
            } else if (!entering.isCancelled()) {
                refusals.add(MultiAdmission.rejected(failure).rejection(), caller.get());
            }
        });
        entering.start(registrations.answered().thenCompose(answered -> {
            context.serving().requireOpen();
            return check == Check.ONLINE && lockService != null
                    ? online(lockService, signed, sequencer, sorted.get(0).resource())
                    : CompletableFuture.completedStage(null);
        }));
        return answer;
    }

    private static CompletionStage<Void> online(
            LockService lockService, SignedSequencer signed, Sequencer sequencer, String resource) {
        return CompletableFuture.completedStage(signed)
                .thenCompose(lockService::isAlive)
                .thenAccept(alive -> {
                    if (!alive) {
                        throw new Rejection(
                                        Reason.LEASE_EXPIRED,
                                        "the lock service knows no live lease of token " + sequencer.token()
                                                + " on lock '" + sequencer.lock()
                                                + "'; nothing was applied: acquire again",
                                        Verdict.metadata(resource, sequencer))
                                .asException();
                    }
                });
    }

    private void observe(
            Sequencer sequencer, Access access, Supplier<Map<String, String>> caller, Binding[] resources) {
        for (Binding resource : resources) {
            gates.open(resource, sequencer).whenComplete((gate, failure) -> {
                if (failure != null) {
                    refusals.add(MultiAdmission.rejected(failure).rejection(), caller.get());
                } else if (gate != null) {
                    gate.observe(sequencer, access).ifPresent(rejection -> refusals.add(rejection, caller.get()));
                }
            });
        }
    }

    /** Threads as needed, which end a minute after their last call. */
    private static Executor threads() {
        AtomicInteger number = new AtomicInteger();
        return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.MINUTES, new SynchronousQueue<>(), run -> {
            Thread thread = new Thread(run, "palisade-guard-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
    }

    /** Makes a guard: {@link Guard#builder}. Not safe for use by several threads. */
    public static final class Builder {
        /** How long a call waits at most unless told otherwise. */
        public static final Duration MAX_WAIT_DEFAULT = Duration.ofSeconds(5);

        /** How long a call with an unknown outcome counts as running unless told otherwise. */
        public static final Duration UNKNOWN_OUTCOME_TIMEOUT_DEFAULT = Duration.ofSeconds(30);

        /** How many marks are kept at most unless told otherwise. */
        public static final int MAX_MARKS_DEFAULT = 100_000;

        /** How many calls wait at most unless told otherwise. */
        public static final int MAX_WAITING_CALLS_DEFAULT = 10_000;

        final SequencerVerifier verifier;
        final MarkStore marks;

        @Nullable
        LockService lockService;

        Duration maxWait = MAX_WAIT_DEFAULT;
        Duration unknownOutcomeTimeout = UNKNOWN_OUTCOME_TIMEOUT_DEFAULT;
        int maxMarks = MAX_MARKS_DEFAULT;
        int maxWaitingCalls = MAX_WAITING_CALLS_DEFAULT;
        boolean observeOnly;
        boolean takeOverAfterLease;
        List<String> protecting = List.of();
        Consumer<String> eventLines = RefusalCounters::log;

        @Nullable
        Executor executor;

        @Nullable
        Time time;

        Builder(SequencerVerifier verifier, MarkStore marks) {
            this.verifier = verifier;
            this.marks = marks;
        }

        /**
         * The service for base marks when the mark store is new or was lost, for {@link Check#ONLINE}, and for the registration
         * of {@link #protecting}. Without one, a guard whose store is not complete refuses every call with MARK_UNAVAILABLE, and a
         * second guard of the same data is not noticed.
         */
        public Builder lockService(LockService lockService) {
            this.lockService = lockService;
            return this;
        }

        /**
         * Names of the data that this guard protects, such as {@code "orders-files"}. While it lives the guard holds the lock
         * {@code palisade/guards/NAME}, and a second guard that protects the same name with marks of its own refuses every call.
         * Not the names of locks: services that protect different data under one lock have different names. Unless given, a
         * {@code GuardInterceptor} uses the full names of its services. Needs a {@link #lockService}.
         *
         * @param names 1 to 200 bytes each, without control characters
         * @throws RejectedException MALFORMED_REQUEST, naming what is wrong with a name
         */
        public Builder protecting(String... names) {
            protecting = Arrays.stream(names).map(Builder::checkedName).toList();
            return this;
        }

        static String checkedName(String name) {
            return Texts.checked("name of what a guard protects", name, 1, 200);
        }

        /**
         * How long a call waits at most, for marks to become durable and for older calls to end; then it is refused as DRAINING.
         *
         * @param wait 1 ms to 1 h; default {@link #MAX_WAIT_DEFAULT}
         */
        public Builder maxWait(Duration wait) {
            maxWait = within("maxWait", wait, Duration.ofMillis(1), Duration.ofHours(1));
            return this;
        }

        /**
         * The operator's promise &#916;: no backend applies a call later than this after its outcome became unknown (a timeout, a
         * broken connection, a kill of the guard). After a start of the guard that no orderly close preceded every call waits that
         * long, so it is also what a crash of the guard costs. Too short breaks the promise that stale calls are refused.
         *
         * @param time 0 to 1 h; default {@link #UNKNOWN_OUTCOME_TIMEOUT_DEFAULT}. 0 only where the end of a call's connection is its end
         */
        public Builder unknownOutcomeTimeout(Duration time) {
            unknownOutcomeTimeout = within("unknownOutcomeTimeout", time, Duration.ZERO, Duration.ofHours(1));
            return this;
        }

        /**
         * Lets this guard end the calls of another guard of its {@link MarkStore#shared shared register} whose lease was not
         * renewed, &#916; after the lease has ended. &#916; must then cover the longest pause of a guard and, together with it, the
         * time in which its calls end: a process or a virtual machine that is stopped for longer in the middle of a call, and
         * then goes on, applies a late write. Without this, such calls keep their resources closed until an operator ends them.
         */
        public Builder takeOverAfterLease() {
            takeOverAfterLease = true;
            return this;
        }

        /**
         * How many marks are kept at most, a few hundred bytes each. With more resources than that, the oldest grants' marks give
         * way, and holders of such grants are refused as stale and have to acquire again.
         *
         * @param marks 256 to 10,000,000; default {@link #MAX_MARKS_DEFAULT}
         */
        public Builder maxMarks(int marks) {
            maxMarks = within("maxMarks", marks, 256, 10_000_000);
            return this;
        }

        /**
         * How many calls wait at most; more are refused with LIMIT_EXCEEDED.
         *
         * @param calls 1 to 1,000,000; default {@link #MAX_WAITING_CALLS_DEFAULT}
         */
        public Builder maxWaitingCalls(int calls) {
            maxWaitingCalls = within("maxWaitingCalls", calls, 1, 1_000_000);
            return this;
        }

        /**
         * Admits every call at once, and only counts what it would refuse: {@link GuardStats#wouldRefuse}. Protects nothing. For
         * finding the clients without a sequencer before the guard is turned on.
         */
        public Builder observeOnly() {
            observeOnly = true;
            return this;
        }

        /**
         * Runs what follows on a call that had to wait: its future's continuations, an interceptor's handler. These may
         * block, so the default starts threads as needed. A call that need not wait is never moved to another thread.
         */
        public Builder executor(Executor executor) {
            this.executor = executor;
            return this;
        }

        /** Clocks and timers other than the machine's: for tests. */
        Builder time(Time time) {
            this.time = time;
            return this;
        }

        /** Receives the events for operators in place of the log: for tests. */
        Builder eventLines(Consumer<String> lines) {
            this.eventLines = lines;
            return this;
        }

        /**
         * Opens the mark store and the guard.
         *
         * @throws RejectedException MARK_UNAVAILABLE, when the store is damaged or another process has it
         * @throws IllegalStateException when two options exclude one another
         */
        public Guard build() {
            if (takeOverAfterLease && !marks.isShared()) {
                throw new IllegalStateException("takeOverAfterLease needs the register of MarkStore.shared");
            }
            if (observeOnly && marks.isShared()) {
                throw new IllegalStateException(
                        "a guard that only observes keeps no register: give it MarkStore.memory() meanwhile");
            }
            return new Guard(this);
        }

        private static Duration within(String what, Duration value, Duration least, Duration most) {
            if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
                throw new IllegalArgumentException(what + " " + value + " is not within " + least + " to " + most);
            }
            return value;
        }

        private static int within(String what, int value, int least, int most) {
            if (value < least || value > most) {
                throw new IllegalArgumentException(what + " " + value + " is not within " + least + " to " + most);
            }
            return value;
        }
    }
}
