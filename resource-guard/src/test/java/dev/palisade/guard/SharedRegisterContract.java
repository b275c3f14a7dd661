package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.grants.Grants;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What holds for one, two and three guards that share a register, wherever it is kept. */
@NullUnmarked
abstract class SharedRegisterContract {
    static final Grants GRANTS = new Grants();
    static final Duration WAIT = Duration.ofMinutes(1);
    static final Binding ORDER = Binding.of("orders/42");

    private final List<Guard> guards = new ArrayList<>();

    @BeforeEach
    void makeNeverUsed() {
        empty();
        createNeverUsed();
    }

    @AfterEach
    void closeGuards() {
        guards.forEach(Guard::close);
    }

    /** A guard that has whole Δ and lease in real time; both long, so that no test waits for them. */
    final Guard guard() {
        return opened(builder(store(Duration.ofMinutes(5))));
    }

    static Guard.Builder builder(MarkStore store) {
        return Guard.builder(GRANTS.verifier(), store).maxWait(WAIT).unknownOutcomeTimeout(Duration.ofMinutes(1));
    }

    final Guard opened(Guard.Builder builder) {
        Guard guard = builder.build();
        guards.add(guard);
        return guard;
    }

    static SignedSequencer exclusive(long token) {
        return GRANTS.exclusive("orders/42", token);
    }

    static SignedSequencer shared(long token) {
        return GRANTS.shared("orders/42", token);
    }

    static CompletableFuture<Admission> write(Guard guard, long token) {
        return guard.enterAsync(exclusive(token), Access.WRITE, ORDER);
    }

    static CompletableFuture<Admission> read(Guard guard, SignedSequencer sequencer) {
        return guard.enterAsync(sequencer, Access.READ, ORDER);
    }

    static Admission admitted(CompletableFuture<Admission> entering) {
        return entering.orTimeout(60, TimeUnit.SECONDS).join();
    }

    static Rejection refused(CompletableFuture<Admission> entering) {
        try {
            entering.orTimeout(60, TimeUnit.SECONDS).join();
        } catch (CompletionException e) {
            return MultiAdmission.rejected(e).rejection();
        }
        throw new AssertionError("it was let in");
    }

    /** The call has been compared, and its mark is durable. */
    final void awaitMark(long token) {
        await(() -> highestMark() == token);
    }

    static void await(Callable<Boolean> condition) {
        Awaitility.await()
                .atMost(Duration.ofMinutes(1))
                .pollInterval(Duration.ofMillis(5))
                .until(condition);
    }

    // What is in the register, and what an operator or an accident does to it.

    abstract MarkStore store(Duration lease);

    final MarkStore store() {
        return store(MarkStore.SHARED_LEASE_DEFAULT);
    }

    /** For many calls at a time. */
    abstract MarkStore fastStore();

    /** Steps fail now and then, before or after their effect. */
    abstract MarkStore brokenStore(Random random);

    /** Steps whose outcome is unknown while a test says so. */
    interface Doubts {
        MarkStore store(Duration lease);

        /** Whether steps that break have taken effect; null: none breaks. */
        void takeEffect(@Nullable Boolean effect);

        /** The same with true from the first step on that changes something. */
        void breakTheNextWrite();
    }

    abstract Doubts doubts();

    /** Steps that throw what no store should. */
    interface Failures {
        MarkStore store(Duration lease);

        void failWith(@Nullable Throwable failure);

        AtomicInteger count();
    }

    abstract Failures failures();

    /** As if there had never been a register. */
    abstract void empty();

    abstract void createNeverUsed();

    /** Registered calls. */
    abstract long calls();

    abstract long quarantinedCalls();

    /** The highest EXCLUSIVE token of any mark. */
    abstract long highestMark();

    /** The highest SHARED token of any mark. */
    abstract long highestSharedMark();

    abstract long epoch();

    abstract long settledEpoch();

    /** The token of the one registration; -1: none. */
    abstract long registration();

    abstract String guardOfOnlyCall();

    /** By what the guide says. */
    abstract void endGuard(String id);

    abstract void endAllGuards();

    /** Of the guards that are there. */
    abstract void setLease(long millis);

    abstract void setDeltaToZero();

    /** What the guide says about the list of guards, of one that has one call. */
    abstract void assertThatTheGuideListsIt(String guard);

    @Test
    void callIsRegisteredWhileItRunsAndGoneAfterIt() {
        Guard guard = guard();
        Admission running = admitted(write(guard, 33));
        assertThat(calls()).isEqualTo(1);
        running.close();
        await(() -> calls() == 0);
    }

    @Test
    void staleCallIsRefusedByAGuardThatNeverSawTheNewToken() {
        Guard one = guard();
        Guard two = guard();
        Guard three = guard();
        admitted(write(one, 33)).close();
        admitted(write(two, 34)).close();
        for (Guard each : List.of(one, two, three)) {
            Rejection why = refused(write(each, 33));
            assertThat(why.reason()).isEqualTo(Reason.TOKEN_STALE);
            assertThat(why.metadata()).containsEntry(Rejection.MARK_TOKEN, "34");
        }
        assertThat(calls()).isZero();
    }

    /**
     * The clock of the waiting guard stands still, so it does not poll.
     *
     * @param listening a store whose waiting calls are woken by other guards
     * @param isListening whether it hears what is announced from now on
     */
    final void assertThatWaitingCallsAreWoken(MarkStore listening, Callable<Boolean> isListening) {
        Guard one = guard();
        Guard two = opened(builder(listening).time(new ManualTime()));
        await(isListening);
        for (long token = 33; token < 39; token += 2) {
            Admission old = admitted(write(one, token));
            CompletableFuture<Admission> next = write(two, token + 1);
            awaitMark(token + 1);
            assertThat(next).isNotDone();
            old.close();
            admitted(next).close();
            await(() -> calls() == 0);
        }
    }

    @Test
    void readRaisesTheMarkForEveryGuard() {
        Guard one = guard();
        Guard two = guard();
        admitted(read(one, exclusive(34))).close();
        assertThat(refused(write(two, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void newerCallWaitsForTheOlderOneOfAnotherGuard() {
        Guard one = guard();
        Guard two = guard();
        Admission old = admitted(write(one, 33));
        CompletableFuture<Admission> next = write(two, 34);
        awaitMark(34);
        assertThat(next).isNotDone();
        assertThat(refused(write(one, 33)).reason())
                .as("a retry of the older one")
                .isEqualTo(Reason.TOKEN_STALE);
        old.close();
        admitted(next).close();
    }

    @Test
    void callThatIsSupersededWhileItWaitsIsStale() {
        Guard one = guard();
        Guard two = guard();
        Admission old = admitted(write(one, 33));
        CompletableFuture<Admission> second = write(two, 34);
        awaitMark(34);
        CompletableFuture<Admission> third = write(one, 35);
        assertThat(refused(second).reason()).isEqualTo(Reason.TOKEN_STALE);
        old.close();
        admitted(third).close();
    }

    @Test
    void waitThatIsTooLongIsDrainingAndTheMarkStaysRaised() {
        Guard one = guard();
        Guard two = opened(builder(store()).maxWait(Duration.ofMillis(300)));
        Admission old = admitted(write(one, 33));
        Rejection why = refused(write(two, 34));
        // A machine that is busy may not have asked the register by then.
        assertThat(why.reason()).isIn(Reason.DRAINING, Reason.MARK_UNAVAILABLE);
        awaitMark(34);
        assertThat(calls()).isEqualTo(1);
        old.close();
    }

    @Test
    void readsOfOneGrantRunSideBySideAtDifferentGuards() {
        Admission one = admitted(read(guard(), exclusive(33)));
        Admission two = admitted(read(guard(), exclusive(33)));
        assertThat(calls()).isEqualTo(2);
        one.close();
        two.close();
    }

    @Test
    void callsOfOneGrantRunSideBySideAtOneGuard() {
        Guard guard = guard();
        Admission one = admitted(write(guard, 33));
        Admission two = admitted(write(guard, 33));
        assertThat(calls()).isEqualTo(2);
        one.close();
        two.close();
    }

    /** The other guard may have been killed in the middle of it, or its caller may have lost the connection. */
    @Test
    void writeKeepsCallsOfItsOwnGrantOutAtOtherGuards() {
        Admission writing = admitted(write(guard(), 33));
        CompletableFuture<Admission> reading = read(guard(), exclusive(33));
        awaitPolls();
        assertThat(reading).isNotDone();
        writing.close();
        admitted(reading).close();
    }

    /** Long enough for a call that nothing blocks. */
    private void awaitPolls() {
        for (int i = 0; i < 3; i++) {
            admitted(guards.get(guards.size() - 1)
                            .enterAsync(GRANTS.exclusive("other", 1), Access.READ, Binding.of("other")))
                    .close();
        }
    }

    @Test
    void writeWhoseCallerHasGoneKeepsCallsOfItsOwnGrantOut() {
        Guard guard = guard();
        Admission writing = admitted(write(guard, 33));
        writing.callerGone();
        await(() -> quarantinedCalls() == 1);
        CompletableFuture<Admission> reading = read(guard, exclusive(33));
        awaitPolls();
        assertThat(reading).isNotDone();
        writing.close();
        admitted(reading).close();
    }

    @Test
    void writeWithAnUnknownOutcomeKeepsItsOwnGrantOutWhileItIsRetained() {
        Guard guard = guard();
        Admission writing = admitted(write(guard, 33));
        Admission.Retention work = writing.retain();
        var unused = writing.outcomeUnknown();
        CompletableFuture<Admission> reading = read(guard, exclusive(33));
        awaitPolls();
        assertThat(reading).isNotDone();
        work.close();
        writing.close();
        admitted(reading).close();
    }

    @Test
    void sharedGrantsRunSideBySideAndTheWriterWaitsForAllOfThem() {
        Guard one = guard();
        Guard two = guard();
        Admission first = admitted(read(one, shared(33)));
        Admission second = admitted(read(two, shared(34)));
        CompletableFuture<Admission> writer = write(one, 35);
        awaitMark(35);
        first.close();
        await(() -> calls() == 1);
        assertThat(writer).isNotDone();
        second.close();
        admitted(writer).close();
        assertThat(refused(read(two, shared(34))).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void olderCallAtAnotherGuardIsAskedToStop() throws Exception {
        Admission old = admitted(write(guard(), 33));
        CompletableFuture<Void> asked = new CompletableFuture<>();
        old.onSuperseded(() -> asked.complete(null));
        CompletableFuture<Admission> next = write(guard(), 34);
        asked.get(60, TimeUnit.SECONDS);
        old.close();
        admitted(next).close();
    }

    @Test
    void unknownEndKeepsOtherGrantsAndTheHolderOutAtEveryGuard() {
        Guard one = guard();
        Guard two = guard();
        Admission lost = admitted(write(one, 33));
        var unused = lost.outcomeUnknown();
        await(() -> quarantinedCalls() == 1);
        CompletableFuture<Admission> holder = read(two, exclusive(33));
        CompletableFuture<Admission> newer = write(two, 34);
        assertThat(refused(holder).reason()).as("superseded by 34").isEqualTo(Reason.TOKEN_STALE);
        assertThat(newer).isNotDone();
        lost.close();
        admitted(newer).close();
    }

    @Test
    void unknownEndIsAnnouncedOnceEveryGuardKnowsOfIt() {
        Admission lost = admitted(write(guard(), 33));
        assertThat(lost.outcomeUnknown()).succeedsWithin(WAIT);
        assertThat(quarantinedCalls()).isEqualTo(1);
        assertThat(lost.outcomeUnknown()).as("said again").succeedsWithin(WAIT);
    }

    @Test
    void unknownEndCountsAsEndedAfterDelta() {
        Guard one = opened(builder(store()).unknownOutcomeTimeout(Duration.ofMillis(50)));
        var unused = admitted(write(one, 33)).outcomeUnknown();
        admitted(write(guard(), 34)).close();
    }

    @Test
    void callOfSeveralResourcesEntersThemAllOrNone() {
        Guard one = guard();
        Guard two = guard();
        Binding lines = new Binding("orders/42/lines", ORDER.lock());
        Admission both = admitted(one.enterAsync(exclusive(33), Access.WRITE, lines, ORDER));
        assertThat(calls()).isEqualTo(2);
        CompletableFuture<Admission> next = two.enterAsync(exclusive(34), Access.WRITE, ORDER, lines);
        awaitMark(34);
        assertThat(next).isNotDone();
        both.close();
        admitted(next).close();
        await(() -> calls() == 0);
    }

    @Test
    void cancelledCallLeavesNoEntry() {
        Guard one = guard();
        Admission old = admitted(write(one, 33));
        CompletableFuture<Admission> next = write(guard(), 34);
        awaitMark(34);
        next.cancel(false);
        old.close();
        await(() -> calls() == 0);
        admitted(write(one, 35)).close();
    }

    @Test
    void commitWithAnUnknownOutcomeStartsNothingUntilItIsResolved() {
        for (boolean effect : new boolean[] {true, false}) {
            Doubts doubts = doubts();
            Guard guard = opened(builder(doubts.store(Duration.ofMinutes(5))));
            doubts.takeEffect(effect);
            CompletableFuture<Admission> entering = write(guard, 33);
            await(() -> !effect || calls() == 1);
            assertThat(entering).isNotDone();
            doubts.takeEffect(null);
            Admission running = admitted(entering);
            assertThat(calls()).isEqualTo(1);
            running.close();
            await(() -> calls() == 0);
        }
    }

    @Test
    void entryOfAnUnknownCommitIsRemovedWhenItsCallGivesUp() {
        Doubts doubts = doubts();
        Guard guard = opened(builder(doubts.store(Duration.ofMinutes(5))));
        doubts.takeEffect(true);
        CompletableFuture<Admission> entering = write(guard, 33);
        await(() -> calls() == 1);
        entering.cancel(false);
        doubts.takeEffect(null);
        await(() -> calls() == 0);
        admitted(write(guard(), 34)).close();
    }

    @Test
    void entriesOfAGuardThatIsGoneStayUntilAnOperatorEndsThem() {
        Guard gone = guard();
        var unused = admitted(write(gone, 33));
        gone.close();
        Guard next = guard();
        CompletableFuture<Admission> newer = write(next, 34);
        awaitMark(34);
        assertThat(newer).isNotDone();
        assertThatTheGuideListsIt(guardOfOnlyCall());
        endGuard(guardOfOnlyCall());
        admitted(newer).close();
    }

    @Test
    void guardWhoseEntriesWereEndedAdmitsNothingAndStopsItsCalls() throws Exception {
        Guard replaced = guard();
        Admission running = admitted(write(replaced, 33));
        CompletableFuture<Void> asked = new CompletableFuture<>();
        running.onSuperseded(() -> asked.complete(null));
        endAllGuards();
        Rejection why = refused(write(replaced, 33));
        assertThat(why.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        asked.get(60, TimeUnit.SECONDS);
        await(replaced::refusesEveryCall);
        assertThat(replaced.refusal().orElseThrow().message()).contains("has ended this guard's entries");
        admitted(write(guard(), 34)).close();
        running.close();
    }

    @Test
    void silentGuardIsTakenOverWhenTheOperatorAllowsIt() {
        Guard silent = opened(builder(store(Duration.ofMinutes(5))));
        var unused = admitted(write(silent, 33));
        setLease(0);
        setDeltaToZero();
        Guard next = opened(builder(store(Duration.ofSeconds(1)))
                .unknownOutcomeTimeout(Duration.ZERO)
                .takeOverAfterLease());
        admitted(write(next, 34)).close();
        assertThat(refused(write(silent, 35)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
    }

    @Test
    void silentGuardIsNotTakenOverBeforeItsLeaseAndDeltaAreOver() {
        Guard silent = guard();
        var unused = admitted(write(silent, 33));
        setLease(1000);
        ManualTime time = new ManualTime();
        opened(builder(store(Duration.ofSeconds(1))).time(time).takeOverAfterLease());
        AtomicLong millis = new AtomicLong();
        await(() -> {
            time.pass(Duration.ofMillis(250));
            millis.addAndGet(250);
            return calls() == 0;
        });
        assertThat(millis).hasValueGreaterThanOrEqualTo(61_000);
    }

    @Test
    void callIsNotStartedByAGuardThatWasPausedPastItsLeaseAfterTheCommit() throws Exception {
        ManualTime time = new ManualTime();
        LinkedBlockingQueue<Runnable> answers = new LinkedBlockingQueue<>();
        Guard guard = opened(builder(store()).time(time).executor(answers::add));
        CompletableFuture<Admission> entering = write(guard, 33);
        Runnable answer = answers.poll(60, TimeUnit.SECONDS);
        assertThat(calls()).as("committed").isEqualTo(1);
        // No alarm goes off: what the guard notices, it notices at the call.
        time.nanosPerReading = MarkStore.SHARED_LEASE_DEFAULT.toNanos();
        var unused = time.nanos();
        time.nanosPerReading = 0;
        Objects.requireNonNull(answer).run();
        assertThat(refused(entering).message()).contains("longer than its lease");
        await(() -> calls() == 0);
    }

    @Test
    void resourceThatAnotherGuardBindsToAnotherLockIsRefused() {
        admitted(write(guard(), 33)).close();
        Guard two = guard();
        Rejection why = refused(two.enterAsync(
                GRANTS.exclusive("other", 40),
                Access.WRITE,
                new Binding("orders/42", Binding.of("other").lock())));
        assertThat(why.reason()).isEqualTo(Reason.WRONG_RESOURCE);
        assertThat(why.message()).contains("bound to lock 'orders/42' in the shared register");
    }

    @Test
    void newRegisterStartsFromABarrierTokenAndWaits() {
        empty();
        ManualTime time = new ManualTime();
        ScriptedLocks locks = new ScriptedLocks(time);
        Guard one = opened(
                builder(store(Duration.ofSeconds(1))).lockService(locks).unknownOutcomeTimeout(Duration.ofMillis(50)));
        assertThat(refused(write(one, 100)).reason())
                .as("granted before the barrier")
                .isEqualTo(Reason.TOKEN_STALE);
        assertThat(locks.token).isEqualTo(101);
        admitted(write(one, 102)).close();
        assertThat(settledEpoch()).isZero();
        assertThat(refused(write(guard(), 101)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void endThatBecomesKnownIsAnnouncedWithoutTheRegister() {
        Failures failing = failures();
        Guard guard = opened(builder(failing.store(Duration.ofMinutes(5))));
        Admission lost = admitted(write(guard, 33));
        failing.failWith(new IllegalStateException("pool"));
        CompletableFuture<Void> announced = lost.outcomeUnknown().toCompletableFuture();
        await(() -> failing.count().get() > 0);
        assertThat(announced).isNotDone();
        lost.close();
        assertThat(announced).succeedsWithin(Duration.ofMinutes(1));
        failing.failWith(null);
        await(() -> calls() == 0);
    }

    @Test
    void unknownEndIsAnnouncedAfterItsTimeoutWithoutTheRegister() {
        Failures failing = failures();
        ManualTime time = new ManualTime();
        Guard guard = opened(builder(failing.store(Duration.ofMinutes(5))).time(time));
        Admission lost = admitted(write(guard, 33));
        failing.failWith(new IllegalStateException("pool"));
        CompletableFuture<Void> announced = lost.outcomeUnknown().toCompletableFuture();
        time.pass(Duration.ofMillis(59_999));
        assertThat(announced).isNotDone();
        time.pass(Duration.ofMillis(1));
        assertThat(announced).succeedsWithin(Duration.ofMinutes(1));
        failing.failWith(null);
    }

    @Test
    void lockServiceThatThrowsDoesNotEndTheGate() {
        empty();
        AtomicInteger asked = new AtomicInteger();
        GrantingLocks locks = new GrantingLocks() {
            @Override
            public CompletionStage<Long> barrier(LockName lock) {
                if (asked.incrementAndGet() == 1) {
                    throw new IllegalStateException("no channel");
                }
                return CompletableFuture.completedStage(50L);
            }

            @Override
            public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
                return CompletableFuture.completedStage(true);
            }
        };
        Guard guard = opened(
                builder(store(Duration.ofSeconds(1))).lockService(locks).unknownOutcomeTimeout(Duration.ofMillis(50)));
        assertThat(refused(write(guard, 100)).message()).contains("no channel");
        admitted(write(guard, 100)).close();
    }

    @Test
    void newRegisterWithoutALockServiceAdmitsNothing() {
        empty();
        assertThat(refused(write(guard(), 100)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
    }

    @Test
    void guardsOfOneRegisterShareANameAndOneWithMarksOfItsOwnIsRefused() {
        ScriptedLocks locks = new ScriptedLocks(new ManualTime());
        Guard one = opened(builder(store()).lockService(locks).protecting("orders"));
        admitted(write(one, 33)).close();
        Guard two = opened(builder(store()).lockService(locks).protecting("orders"));
        admitted(write(two, 34)).close();
        Guard foreign = opened(builder(MarkStore.memory()).lockService(locks).protecting("orders"));
        Rejection why = refused(write(foreign, 35));
        assertThat(why.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(why.message())
                .contains("already protects 'orders' with marks of its own")
                .hasLineCount(1);
    }

    @Test
    void registerIsRefusedBesideAGuardWithMarksOfItsOwn() {
        ScriptedLocks locks = new ScriptedLocks(new ManualTime());
        Guard foreign = opened(builder(MarkStore.memory()).lockService(locks).protecting("orders"));
        await(foreign::isServing);
        Guard shared = opened(builder(store()).lockService(locks).protecting("orders"));
        assertThat(refused(write(shared, 200)).message()).contains("already protects 'orders' with marks of its own");
    }

    @Test
    void nameOfAGuardThatClosesPassesToAnotherWithoutRaisingTheMarks() {
        ScriptedLocks locks = new ScriptedLocks(new ManualTime());
        Guard one = opened(builder(store()).lockService(locks).protecting("orders"));
        admitted(write(one, 33)).close();
        Guard two = opened(builder(store()).lockService(locks).protecting("orders"));
        admitted(write(two, 34)).close();
        long first = registration();
        one.close();
        await(() -> registration() > first);
        admitted(write(two, 34)).close();
        assertThat(epoch()).isZero();
    }

    /**
     * The second guard of a register, which missed a registration since the first one closed: it raises all marks.
     *
     * @param call at the first guard
     */
    private Guard afterARaise(ScriptedLocks locks, Function<Guard, CompletableFuture<Admission>> call) {
        Guard one = registered(locks);
        admitted(call.apply(one)).close();
        one.close();
        locks.give("orders", "another", "guard with marks of its own");
        locks.expire("orders");
        Guard two = registered(locks);
        await(two::isServing);
        return two;
    }

    private Guard registered(ScriptedLocks locks) {
        return opened(builder(store())
                .unknownOutcomeTimeout(Duration.ofMillis(50))
                .lockService(locks)
                .protecting("orders"));
    }

    @Test
    void registerThatMissedARegistrationRaisesItsMarksForEveryGuard() {
        ScriptedLocks locks = new ScriptedLocks(new ManualTime());
        Guard two = afterARaise(locks, one -> write(one, 133));
        assertThat(refused(write(two, 99)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(epoch()).isEqualTo(1);
        assertThat(locks.token).as("with a barrier token").isEqualTo(105);
    }

    @Test
    void callThatWaitsAtAGuardThatClosesIsRefusedAtOnce() {
        Admission old = admitted(write(guard(), 33));
        Guard closing = guard();
        CompletableFuture<Admission> waiting = write(closing, 34);
        awaitMark(34);
        closing.close();
        assertThat(refused(waiting).message()).contains("the guard is closed");
        old.close();
    }

    /** A step that finds its guard's row gone asks for a renewal, maybe of a register that closes. */
    @Test
    void closedRegisterFailsARenewalWithoutThrowing() {
        SharedRegister register = (SharedRegister) store();
        register.join(new SharedRegister.Member(
                System::nanoTime, Duration.ofMinutes(1), false, "owner", (event, message) -> {}));
        register.open();
        register.close(true);
        assertThat(register.confirm()).isCompletedExceptionally();
    }

    /** What is to stop a call may wait for its end, on whatever thread it runs. */
    @Test
    void listenerThatWaitsForTheEndOfItsCallDoesNotBlockTheGate() {
        Guard guard = opened(builder(store(Duration.ofMinutes(5))).executor(Runnable::run));
        Admission old = admitted(write(guard, 33));
        CompletableFuture<Void> stopped = new CompletableFuture<>();
        old.onSuperseded(() -> {
            CompletableFuture<Void> closing = CompletableFuture.runAsync(old::close);
            try {
                stopped.complete(closing.get(60, TimeUnit.SECONDS));
            } catch (Exception e) {
                stopped.completeExceptionally(e);
            }
        });
        admitted(write(guard, 34)).close();
        assertThat(stopped.join()).isNull();
    }

    @Test
    void unknownCommitOfARegistrationRaisesNoMark() {
        ManualTime time = new ManualTime();
        ScriptedLocks locks = new ScriptedLocks(time);
        locks.away = true;
        Doubts doubts = doubts();
        Guard guard = opened(builder(doubts.store(Duration.ofMinutes(5)))
                .time(time)
                .lockService(locks)
                .protecting("orders"));
        doubts.breakTheNextWrite();
        locks.away = false;
        await(() -> {
            time.pass(Duration.ofMillis(250));
            return registration() >= 0;
        });
        doubts.takeEffect(null);
        await(() -> {
            time.pass(Duration.ofMillis(250));
            return guard.isServing();
        });
        assertThat(epoch()).isZero();
    }

    @Test
    void raisedMarkIsNeverLowerThanItWas() {
        ScriptedLocks locks = new ScriptedLocks(new ManualTime());
        Guard two = afterARaise(locks, one -> write(one, 133));
        assertThat(refused(write(two, 120)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(locks.token)
                .as("the barrier token, of a lock server that went back")
                .isLessThan(120);
        assertThat(refused(write(two, 133)).reason()).as("a grant from before").isEqualTo(Reason.TOKEN_STALE);
        admitted(write(two, 134)).close();
    }

    @Test
    void raisedMarkKeepsItsSharedToken() {
        ScriptedLocks locks = new ScriptedLocks(new ManualTime());
        Guard two = afterARaise(locks, one -> read(one, shared(133)));
        assertThat(refused(read(two, shared(133))).reason())
                .as("a grant from before")
                .isEqualTo(Reason.TOKEN_STALE);
        admitted(write(two, 134)).close();
        assertThat(epoch()).isEqualTo(1);
        assertThat(highestSharedMark()).isEqualTo(133);
    }

    @Test
    void failureThatIsNoSqlExceptionEndsNeitherStepsNorTheWatch() {
        Failures failing = failures();
        ManualTime time = new ManualTime();
        Guard guard = opened(builder(failing.store(Duration.ofMinutes(5))).time(time));
        Admission old = admitted(write(guard, 33));
        CompletableFuture<Void> asked = new CompletableFuture<>();
        old.onSuperseded(() -> asked.complete(null));
        for (Throwable failure : List.of(new IllegalStateException("pool"), new NoClassDefFoundError("driver"))) {
            failing.failWith(failure);
            await(() -> {
                time.pass(Duration.ofMillis(500)); // The watch runs once a second.
                return failing.count().get() > 0;
            });
            failing.count().set(0);
            CompletableFuture<Admission> second = write(guard, 33);
            await(() -> failing.count().get() > 0);
            failing.failWith(null);
            await(() -> {
                time.pass(Duration.ofMillis(100));
                return second.isDone();
            });
            admitted(second).close();
        }
        var unused = write(guard(), 34);
        await(() -> {
            time.pass(Duration.ofMillis(500));
            return asked.isDone();
        });
        old.close();
    }

    @Test
    void racingGuardsWithDoubtsAndRestartsApplyInOrder() throws Exception {
        RegisterRace race =
                new RegisterRace(this::brokenStore, this::endGuard, Long.getLong("palisade.register.seed", 7));
        assertThat(race.run(Integer.getInteger("palisade.register.grants", 20))).isEmpty();
        assertThat(race.applied()).isGreaterThan(30);
    }

    @Test
    void observingGuardIsRefusedARegister() {
        assertThatThrownBy(() -> builder(store()).observeOnly().build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("only observes");
    }

    /** With {@code -Dpalisade.register.calls=1000} what it prints is the cost of a call, see {@code docs/reference/benchmarks.md}. */
    @Test
    void manyCallsAreAllAdmittedAndAllLeave() {
        int count = Integer.getInteger("palisade.register.calls", 20);
        try (Guard one = builder(fastStore()).build();
                Guard two = builder(fastStore()).build()) {
            report("one guard, one call at a time", count, () -> {
                for (int i = 0; i < count; i++) {
                    admitted(write(one, 33)).close();
                }
            });
            report("two guards that hand one resource to each other", count, () -> {
                for (int i = 0; i < count; i++) {
                    admitted(write(i % 2 == 0 ? one : two, 100 + i)).close();
                }
            });
            report("one guard, 16 calls at a time, a resource each", 16 * count, () -> sixteenAtATime(one, count));
        }
    }

    private static void sixteenAtATime(Guard guard, int times) {
        for (int i = 0; i < times; i++) {
            Stream.iterate(0, n -> n + 1)
                    .limit(16)
                    .map(n -> "many/" + n)
                    .map(name -> guard.enterAsync(GRANTS.exclusive(name, 33), Access.WRITE, Binding.of(name)))
                    .toList()
                    .forEach(entering -> admitted(entering).close());
        }
    }

    private void report(String what, int count, Runnable calls) {
        long from = System.nanoTime();
        calls.run();
        await(() -> calls() == 0);
        System.out.printf("%s: %d us a call%n", what, (System.nanoTime() - from) / 1_000 / count);
    }

    @Test
    void namesThatDifferInCaseOrInASpaceAreTwoResources() {
        Guard guard = guard();
        List<String> names = List.of("a", "A", "a ", "å");
        List<Admission> running = names.stream()
                .map(name -> guard.enterAsync(
                        GRANTS.sign("l", Mode.EXCLUSIVE, 10L + names.indexOf(name), names.indexOf(name)),
                        Access.WRITE,
                        new Binding(name, Binding.of("l").lock())))
                .map(SharedRegisterContract::admitted)
                .toList();
        assertThat(calls()).isEqualTo(4);
        running.forEach(Admission::close);
    }
}
