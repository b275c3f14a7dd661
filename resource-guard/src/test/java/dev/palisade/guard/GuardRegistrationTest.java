package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Guards that register what they protect, with time and the lock service in the test's hands. */
class GuardRegistrationTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Duration DELTA = Duration.ofSeconds(30);
    private static final Duration WAIT = Duration.ofSeconds(5);
    private static final String NAME = "shop.Orders";

    private final ManualTime time = new ManualTime();
    private final ScriptedLocks locks = new ScriptedLocks(time);
    private final List<String> lines = new ArrayList<>();

    /** A mark store of its own, in memory; new unless the test says otherwise. */
    private static SlowMarkStore marks(String id) {
        SlowMarkStore store = new SlowMarkStore();
        store.id = id;
        store.syncsAtOnce = true;
        store.complete = false;
        return store;
    }

    private Guard.Builder builder(SlowMarkStore store) {
        return Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .maxWait(WAIT)
                .unknownOutcomeTimeout(DELTA)
                .lockService(locks)
                .eventLines(lines::add);
    }

    private Guard guard(SlowMarkStore store) {
        return builder(store).protecting(NAME).build();
    }

    @Test
    void secondGuardWithMarksOfItsOwnRefusesEveryCall() {
        Guard first = guard(whole("a"));
        assertThat(write(first, 200)).isCompleted();
        Guard second = guard(marks("b"));
        Rejection why = refused(write(second, 200));
        assertThat(why.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(why.message())
                .contains("another guard (", " pid ", "registered at 2023-11-14T22:13:17Z)", "nothing was applied")
                .contains(") already protects 'shop.Orders' with marks of its own; ", "run one guard")
                .doesNotContain("\n");
        assertThat(second.isServing()).isFalse();
        assertThat(first.isServing()).isTrue();
        assertThat(write(first, 200)).isCompleted();
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=registration_refused"))
                .singleElement()
                .asString()
                .as("with the remedy, which is at its end")
                .contains("give each its own name by Guard.Builder.protecting");
    }

    /** The late write that two replicas with marks of their own let through, which is why there are registrations. */
    @Test
    void guardsWithoutANameLetALateWriteThrough() {
        Guard first = builder(whole("a")).build();
        Guard second = builder(whole("b")).build();
        write(first, 33).join().close();
        write(first, 34).join().close();
        assertThat(refused(write(first, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(second, 33)).as("planted: the defect").isCompleted();

        Guard named = guard(whole("c"));
        Guard refusing = guard(whole("d"));
        assertThat(named.isServing()).isTrue();
        assertThat(refused(write(refusing, 33)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
    }

    @Test
    void guardsOfDifferentNamesAreIndependent() {
        Guard first = guard(marks("a"));
        Guard second = builder(marks("b")).protecting("another", "third").build();
        assertThat(first.isServing()).isTrue();
        assertThat(second.isServing()).isTrue();
        assertThat(locks.holder("third")).contains("guard with marks b");
    }

    @Test
    void guardWithTheSameMarksGoesOnAndRegistersLater() {
        SlowMarkStore store = whole("a");
        Guard killed = guard(store);
        assertThat(killed.isServing()).isTrue();
        Guard successor = guard(same(store));
        assertThat(successor.isServing()).isTrue();
        assertThat(write(successor, 33)).isCompleted();
        locks.kill(NAME);
        locks.expire(NAME);
        pass(Duration.ofSeconds(4));
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=registered"))
                .hasSize(2);
        assertThat(locks.holder(NAME)).contains("guard with marks a");
    }

    /** A volume that was cloned: two stores with one identity, and both guards alive. */
    @Test
    void guardWithACopyOfTheMarksIsFoundOut() {
        Guard first = guard(whole("a"));
        Guard copy = guard(whole("a"));
        pass(DELTA.plusSeconds(10));
        assertThat(first.isServing()).isTrue();
        assertThat(refused(write(copy, 33)).message()).contains("a copy of these marks");
    }

    @Test
    void newGuardTakesTheNameOverWhenTheOtherIsGoneAndWaitsForItsCalls() {
        Guard first = guard(whole("a"));
        write(first, 200).join().close();
        Guard second = guard(marks("b"));
        assertThat(second.isServing()).isFalse();
        pass(DELTA);
        locks.kill(NAME);
        locks.expire(NAME);
        locks.token = 300;
        pass(Duration.ofSeconds(4));
        assertThat(second.isServing()).isTrue();
        CompletableFuture<Admission> early = write(second, 500);
        pass(WAIT);
        assertThat(refused(early).reason()).as("calls of the other may run").isEqualTo(Reason.DRAINING);
        pass(DELTA);
        assertThat(refused(write(second, 200)).reason())
                .as("a grant of the time before it had the name")
                .isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(second, 500)).isCompleted();
    }

    /**
     * Promised: a new store admits nothing within &#916; of the reply that registers it. Before that reply another guard had
     * the name; its calls have &#916; to end.
     */
    @Test
    void newGuardWaitsAfterItsRegistrationNotAfterItsStart() {
        Guard replaced = guard(whole("a"));
        Admission running = write(replaced, 33).join();
        locks.kill(NAME); // Cut off from the lock server: its calls go on.
        locks.away = true;
        Guard second = guard(fresh("b"));
        pass(DELTA.plusSeconds(10));
        assertThat(second.isServing()).as("longer than the wait after a start").isFalse();
        locks.expire(NAME);
        locks.token = 300;
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(second.isServing()).isTrue();
        CompletableFuture<Admission> early = write(second, 500);
        pass(WAIT);
        assertThat(refused(early).reason())
                .as("a call of the replaced guard runs")
                .isEqualTo(Reason.DRAINING);
        pass(DELTA.minusSeconds(10));
        running.close();
        CompletableFuture<Admission> late = write(second, 500);
        pass(Duration.ofSeconds(1));
        assertThat(late).as("28 s after the lock server was back").isNotDone();
        pass(Duration.ofSeconds(3));
        assertThat(late).isCompleted();
    }

    /** The same beside a guard that only observes: a third one may have had the name before it. */
    @Test
    void newGuardBesideAnObservingOneWaitsAfterTheReply() {
        locks.away = true;
        Guard guard = guard(fresh("b"));
        pass(DELTA.plusSeconds(10));
        locks.give(NAME, "observer", "observing guard with marks x");
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(guard.isServing()).isTrue();
        CompletableFuture<Admission> early = write(guard, 500);
        pass(WAIT);
        assertThat(refused(early).reason()).isEqualTo(Reason.DRAINING);
        pass(DELTA);
        assertThat(write(guard, 500)).isCompleted();
    }

    @Test
    void newGuardWaitsForTheCallsOfTheOtherWhoeverFollowsIt() {
        locks.give(NAME, "other", "guard with marks x");
        Guard second = guard(marks("b"));
        assertThat(second.isServing()).isFalse();
        locks.give(NAME, "twin", "guard with marks b");
        pass(Duration.ofSeconds(4));
        assertThat(second.isServing()).isTrue();
        CompletableFuture<Admission> early = write(second, 500);
        pass(WAIT);
        assertThat(refused(early).reason()).isEqualTo(Reason.DRAINING);
    }

    @Test
    void guardWithOlderMarksStaysRefusedWhenTheOtherIsGone() {
        locks.give(NAME, "other", "guard with marks x");
        Guard second = guard(whole("b"));
        assertThat(second.isServing()).isFalse();
        locks.expire(NAME);
        pass(Duration.ofMinutes(1));
        assertThat(refused(write(second, 500)).message()).contains("start it again", "empty store");
        assertThat(locks.holder(NAME)).as("it leaves the name to others").isEmpty();
    }

    @Test
    void callsWaitForTheFirstAnswerOfTheLockServer() {
        locks.away = true;
        Guard guard = guard(whole("a"));
        assertThat(guard.isServing()).isFalse();
        CompletableFuture<Admission> vain = write(guard, 200);
        assertThat(vain).isNotDone();
        pass(WAIT);
        assertThat(refused(vain).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(refused(vain).message()).contains("has not answered yet", NAME, "the lock server is away");
        CompletableFuture<Admission> lucky = write(guard, 200);
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(lucky).isCompleted();
        assertThat(guard.isServing()).isTrue();
        assertThat(guard.stats().waiting()).isZero();
    }

    /** A guard behind a readiness probe gets no call that could say so. */
    @Test
    void guardWithoutAnAnswerSaysSoOnceAMinuteAndNamesItsRefusal() {
        locks.away = true;
        Guard guard = guard(marks("a"));
        assertThat(unanswered()).singleElement().asString().contains(NAME, "look at", "(the lock server is away)");
        assertThat(guard.isServing()).isFalse();
        assertThat(guard.refusesEveryCall()).isFalse();
        assertThat(guard.refusal()).hasValueSatisfying(why -> {
            assertThat(why.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
            assertThat(why.message()).containsOnlyOnce("nothing was applied").doesNotContain("no answer yet");
        });
        pass(Duration.ofSeconds(50));
        assertThat(unanswered()).hasSize(1);
        pass(Duration.ofSeconds(60));
        assertThat(unanswered()).hasSize(2);
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(guard.isServing()).isTrue();
        assertThat(guard.refusal()).isEmpty();
        assertThat(unanswered()).hasSize(2);
    }

    private List<String> unanswered() {
        return lines.stream()
                .filter(line -> line.startsWith("event=registration_unanswered "))
                .toList();
    }

    @Test
    void outageAfterTheFirstAnswerStopsNothingAndIsReportedOnce() {
        Guard guard = guard(marks("a"));
        locks.away = true;
        pass(Duration.ofMinutes(1));
        assertThat(guard.isServing()).isTrue();
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=unregistered"))
                .hasSize(1);
        locks.away = false;
        locks.expire(NAME);
        pass(Duration.ofSeconds(5));
        assertThat(locks.holder(NAME)).contains("guard with marks a");
        assertThat(guard.isServing()).isTrue();
    }

    @Test
    void guardThatFindsItsNameTakenAfterAnOutageClosesAndStopsItsCalls() {
        Guard guard = guard(whole("a"));
        AtomicInteger stopped = new AtomicInteger();
        write(guard, 200).join().onSuperseded(stopped::incrementAndGet);
        locks.away = true;
        pass(Duration.ofSeconds(20));
        locks.give(NAME, "other", "guard with marks x");
        locks.away = false;
        pass(Duration.ofSeconds(5));
        assertThat(guard.isServing()).isFalse();
        assertThat(stopped).hasValue(1);
        assertThat(refused(write(guard, 200)).message()).contains("guard with marks x");
    }

    @Test
    void acquireWhoseAnswerIsLostIsRepeatedUnderItsId() {
        locks.mute = true;
        Guard guard = guard(marks("a"));
        pass(Duration.ofSeconds(5));
        assertThat(guard.isServing()).isFalse();
        locks.mute = false;
        pass(Duration.ofSeconds(2));
        assertThat(guard.isServing()).isTrue();
        assertThat(locks.acquires).isGreaterThan(3);
    }

    @Test
    void requestsNeverGetTooOldForTheLockServer() {
        locks.mute = true;
        Guard guard = guard(marks("a"));
        pass(Duration.ofMinutes(2));
        assertThat(locks.oldest).isBetween(Duration.ofSeconds(15), Duration.ofSeconds(25));
        assertThat(guard.isServing()).isFalse();
    }

    @Test
    void closeReleasesTheNameWhenEveryCallHasEnded() {
        SlowMarkStore store = whole("a");
        Guard guard = guard(store);
        guard.close();
        assertThat(locks.holder(NAME)).isEmpty();
        Guard busy = guard(same(store));
        Admission running = write(busy, 33).join();
        busy.close();
        assertThat(locks.holder(NAME)).as("it lapses").isPresent();
        running.close();
    }

    @Test
    void replacedGuardGivesTheNameUp() {
        SlowMarkStore store = whole("a");
        store.heldForLife = false;
        Guard guard = guard(store);
        store.taken = true;
        pass(DELTA.dividedBy(4).plusSeconds(1));
        assertThat(guard.isServing()).isFalse();
        assertThat(locks.holder(NAME)).isEmpty();
    }

    /** The lock server was away, and gave the lease of the dead guard its whole ttl again. */
    @Test
    void outageOfTheLockServerMakesNoCopyOfTheMarks() {
        SlowMarkStore store = whole("a");
        guard(store);
        locks.kill(NAME);
        Guard successor = guard(same(store));
        locks.away = true;
        pass(DELTA.plusSeconds(10));
        locks.away = false;
        pass(GuardRegistration.TTL);
        assertThat(successor.isServing()).isTrue();
        locks.expire(NAME);
        pass(Duration.ofSeconds(4));
        assertThat(locks.holder(NAME)).contains("guard with marks a");
        assertThat(write(successor, 33)).isCompleted();
    }

    /** Cut off from its database, it cannot know that another guard has the marks now. */
    @Test
    void guardWithUnconfirmedMarksLeavesTheNameToItsSuccessor() {
        SlowMarkStore cutOff = shared("a");
        Guard first = guard(cutOff);
        cutOff.confirmed = CompletableFuture.failedFuture(
                new Rejection(Reason.MARK_UNAVAILABLE, "the database is away").asException());
        Guard successor = guard(same(cutOff));
        pass(DELTA.dividedBy(2).plusSeconds(5));
        assertThat(first.isServing()).isFalse();
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=registered"))
                .hasSize(2);
        pass(DELTA.multipliedBy(3));
        assertThat(successor.isServing()).isTrue();
        assertThat(write(successor, 33)).isCompleted();
    }

    @Test
    void guardWhoseMarksAreConfirmedAgainRegistersAgain() {
        SlowMarkStore store = shared("a");
        Guard guard = guard(store);
        assertThat(write(guard, 33)).isCompleted();
        CompletableFuture<Void> up = store.confirmed;
        store.confirmed = CompletableFuture.failedFuture(
                new Rejection(Reason.MARK_UNAVAILABLE, "the database is away").asException());
        pass(DELTA);
        assertThat(locks.holder(NAME)).isEmpty();
        locks.away = true;
        store.confirmed = up;
        pass(DELTA.dividedBy(4));
        assertThat(refused(write(guard, 33)).message())
                .as("another guard may have taken the name")
                .contains("has not answered yet");
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(locks.holder(NAME)).contains("guard with marks a");
        assertThat(write(guard, 33)).isCompleted();
        assertThat(guard.isServing()).isTrue();
    }

    @Test
    void renewalThatWasOnItsWayDoesNotReviveAReleasedName() {
        SlowMarkStore store = shared("a");
        Guard guard = guard(store);
        locks.slow = new CompletableFuture<>();
        pass(Duration.ofSeconds(4));
        store.confirmed = CompletableFuture.failedFuture(
                new Rejection(Reason.MARK_UNAVAILABLE, "the database is away").asException());
        pass(DELTA);
        locks.slow.complete(null);
        pass(DELTA);
        assertThat(locks.holder(NAME)).isEmpty();
        assertThat(guard.isServing()).isFalse();
    }

    /** The other one kept the name, but the store knows its owner. */
    @Test
    void ownerThatTheStoreConfirmsIsNeverTakenForACopy() {
        locks.give(NAME, "other", "guard with marks a");
        SlowMarkStore store = shared("a");
        store.registrations.put(NAME, locks.token);
        Guard guard = guard(store);
        pass(DELTA.multipliedBy(3));
        assertThat(guard.isServing()).isTrue();
        assertThat(write(guard, 33)).isCompleted();
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=registration_shared message="))
                .hasSize(1);
    }

    @Test
    void guardThatOnlyObservesWarnsAndRefusesNothing() {
        Guard first = guard(marks("a"));
        Guard observing = builder(marks("b")).observeOnly().protecting(NAME).build();
        assertThat(observing.isServing()).isTrue();
        assertThat(write(observing, 33)).isCompleted();
        assertThat(lines)
                .filteredOn(line -> line.startsWith("event=registration_refused"))
                .hasSize(1);
        assertThat(first.isServing()).isTrue();
    }

    @Test
    void guardBesideOneThatOnlyObservesServesAndWarns() {
        Guard observing = builder(marks("b")).observeOnly().protecting(NAME).build();
        Guard guard = guard(marks("a"));
        assertThat(observing.isServing()).isTrue();
        assertThat(guard.isServing()).isTrue();
        pass(DELTA);
        assertThat(write(guard, 200)).isCompleted();
        assertThat(lines).anyMatch(line -> line.startsWith("event=guard_observes"));
    }

    @Test
    void namesOfAnInterceptorAreUsedUnlessTheBuilderGaveSome() {
        Guard guard = builder(marks("a")).build();
        guard.protects(NAME);
        guard.protects(NAME);
        assertThat(locks.holder(NAME)).isPresent();
        assertThat(locks.acquires).isEqualTo(1);
        Guard named = builder(marks("b")).protecting("its own").build();
        named.protects(NAME);
        assertThat(named.isServing()).isTrue();
        assertThatThrownBy(() -> builder(marks("c")).protecting("x".repeat(201)))
                .isInstanceOf(RejectedException.class);
    }

    /** A new store as the product makes it: its guard waits after its start, too. */
    private static SlowMarkStore fresh(String id) {
        SlowMarkStore store = marks(id);
        store.closedInOrder = false;
        return store;
    }

    /** Marks that are there already: no base mark is asked for. */
    private static SlowMarkStore whole(String id) {
        SlowMarkStore store = marks(id);
        store.complete = true;
        return store;
    }

    /** Marks that another process can take over, as in a database. */
    private static SlowMarkStore shared(String id) {
        SlowMarkStore store = whole(id);
        store.heldForLife = false;
        return store;
    }

    /** The same marks, opened by another process. */
    private static SlowMarkStore same(SlowMarkStore of) {
        SlowMarkStore store = marks(of.id);
        store.complete = of.complete;
        store.heldForLife = of.heldForLife;
        store.marks.putAll(of.marks);
        store.bases.putAll(of.bases);
        store.registrations = of.registrations;
        return store;
    }

    private void pass(Duration whole) {
        for (long left = whole.toMillis(); left > 0; left -= 250) {
            time.pass(Duration.ofMillis(Math.min(250, left)));
        }
    }

    private static CompletableFuture<Admission> write(Guard guard, long token) {
        return guard.enterAsync(signed(token), Access.WRITE, Binding.of("orders/42"));
    }

    private static Rejection refused(CompletableFuture<Admission> call) {
        assertThat(call).isCompletedExceptionally();
        try {
            call.join();
            throw new AssertionError("admitted");
        } catch (CompletionException e) {
            return MultiAdmission.rejected(e).rejection();
        }
    }

    private static SignedSequencer signed(long token) {
        return KEYS.sign(new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(1, token),
                0));
    }
}
