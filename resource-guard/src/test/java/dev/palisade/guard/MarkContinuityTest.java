package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Guards whose registration was another's in between: their marks have missed grants, and are raised. */
class MarkContinuityTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Duration DELTA = Duration.ofSeconds(30);
    private static final Duration WAIT = Duration.ofSeconds(5);
    private static final String NAME = "shop.Orders";

    /** The fewest that a guard may be told to keep. */
    private static final int MARKS_MAX = 256;

    private final ManualTime time = new ManualTime();
    private final ScriptedLocks locks = new ScriptedLocks(time);
    private Duration delta = DELTA;
    private final List<String> lines = new CopyOnWriteArrayList<>();

    /** A store under which nothing was ever guarded. */
    private static SlowMarkStore store(String id) {
        SlowMarkStore store = new SlowMarkStore();
        store.id = id;
        store.syncsAtOnce = true;
        return store;
    }

    private Guard guard(MarkStore store) {
        return builder(store).build();
    }

    private Guard.Builder builder(MarkStore store) {
        return Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .maxWait(WAIT)
                .unknownOutcomeTimeout(delta)
                .lockService(locks)
                .eventLines(lines::add)
                .protecting(NAME);
    }

    /** Another guard with marks of its own has the name for a while, and admits newer grants. */
    private void anotherGuardServes() {
        locks.give(NAME, "other", "guard with marks x");
        locks.token = Math.max(locks.token, 500);
        locks.expire(NAME);
    }

    @Test
    void guardThatIsStartedAgainContinuesItsMarks() {
        SlowMarkStore marks = store("a");
        for (int i = 0; i < 3; i++) {
            Guard guard = guard(marks);
            assertThat(write(guard, 33))
                    .isCompleted()
                    .satisfies(call -> call.join().close());
            guard.close();
        }
        assertThat(lines).noneMatch(line -> line.startsWith("event=marks_"));
    }

    /** Two alternating guards, each with marks of its own: decision 20 named this as what it did not notice. */
    @Test
    void guardsThatAlternateWithSeparateMarksRefuseLateWrites() {
        SlowMarkStore marksOfA = store("a");
        SlowMarkStore marksOfB = store("b");
        Guard a = guard(marksOfA);
        write(a, 33).join().close();
        a.close();

        Guard b = guard(marksOfB);
        assertThat(events("marks_behind"))
                .as("never used, says its store; the lock server knows better")
                .hasSize(1);
        pass(DELTA);
        locks.token = 600;
        assertThat(refused(write(b, 34)).reason())
                .as("older than the base mark")
                .isEqualTo(Reason.TOKEN_STALE);
        write(b, 700).join().close();
        b.close();

        Guard again = guard(marksOfA);
        assertThat(events("marks_behind")).hasSize(2);
        assertThat(events("marks_raised")).hasSize(2);
        locks.token = 800;
        CompletableFuture<Admission> early = write(again, 900);
        pass(WAIT);
        assertThat(refused(early).reason()).as("calls of the other may run").isEqualTo(Reason.DRAINING);
        pass(DELTA);
        assertThat(refused(write(again, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(refused(write(again, 700)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(again, 900)).isCompleted();
    }

    /** With the stores of the product, which answer on a thread of their own. */
    @Test
    void guardsWithFilesThatAlternateRefuseLateWrites(@TempDir Path directory) throws Exception {
        Path a = directory.resolve("a");
        Path b = directory.resolve("b");
        MarkStore.createNeverUsed(a);
        MarkStore.createNeverUsed(b);
        alternate(() -> MarkStore.file(a), () -> MarkStore.file(b));
    }

    @Test
    void guardsWithTablesThatAlternateRefuseLateWrites() throws Exception {
        DataSource a = neverUsed("continuity-a");
        DataSource b = neverUsed("continuity-b");
        alternate(() -> MarkStore.jdbc(a), () -> MarkStore.jdbc(b));
    }

    private static DataSource neverUsed(String name) {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1");
        MarkStore.createTables(database);
        MarkStore.createNeverUsed(database);
        return database;
    }

    private void alternate(Supplier<MarkStore> marksOfA, Supplier<MarkStore> marksOfB) throws Exception {
        delta = Duration.ZERO; // No time passes here: a store on a thread of its own could not keep up.
        Guard a = serving(marksOfA.get());
        admitted(a, 33);
        a.close();
        Guard same = serving(marksOfA.get());
        admitted(same, 33);
        same.close();
        assertThat(events("marks_behind")).as("it was alone").isEmpty();
        Guard b = serving(marksOfB.get());
        locks.token = 600;
        assertThat(refusedInTime(b, 33).reason()).isEqualTo(Reason.TOKEN_STALE);
        admitted(b, 700);
        b.close();
        Guard again = serving(marksOfA.get());
        assertThat(events("marks_raised")).hasSize(2);
        locks.token = 800;
        assertThat(refusedInTime(again, 33).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(refusedInTime(again, 700).reason()).isEqualTo(Reason.TOKEN_STALE);
        admitted(again, 900);
        again.close();
        Guard last = serving(marksOfA.get());
        assertThat(refusedInTime(last, 33).reason())
                .as("what was raised is kept")
                .isEqualTo(Reason.TOKEN_STALE);
        admitted(last, 900);
        last.close();
        assertThat(events("marks_raised")).hasSize(2);
    }

    private Guard serving(MarkStore store) {
        Guard guard = guard(store);
        Awaitility.await().until(guard::isServing);
        return guard;
    }

    private static void admitted(Guard guard, long token) throws Exception {
        write(guard, token).get(60, TimeUnit.SECONDS).close();
    }

    private static Rejection refusedInTime(Guard guard, long token) {
        CompletableFuture<Admission> call = write(guard, token);
        Awaitility.await().until(call::isDone);
        return refused(call);
    }

    /** It has no mark to raise, but nothing is admitted before the new registration is kept. */
    @Test
    void newStoreThatMissedARegistrationIsHeldBack() {
        SlowMarkStore marks = store("a");
        marks.complete = false;
        Guard guard = guard(marks);
        locks.give(NAME, "observer", "observing guard with marks x");
        pass(Duration.ofSeconds(4));
        assertThat(guard.isServing()).as("beside the observing guard").isTrue();
        marks.syncsAtOnce = false;
        locks.expire(NAME);
        pass(Duration.ofSeconds(4));
        assertThat(locks.holder(NAME)).contains("guard with marks a");
        assertThat(guard.isServing()).as("its registration is not durable yet").isFalse();
        assertThat(refused(write(guard, 900)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        marks.sync();
        assertThat(guard.isServing()).isTrue();
        marks.syncsAtOnce = true;
        CompletableFuture<Admission> early = write(guard, 900);
        pass(WAIT);
        assertThat(refused(early).reason()).as("calls of the other may run").isEqualTo(Reason.DRAINING);
        assertThat(after(DELTA, guard, 900)).isCompleted();
        assertThat(events("marks_behind")).isEmpty();
    }

    /** Of a guard that forgets its marks with its process: in the process it has them, and they fall behind. */
    @Test
    void guardWithMarksInMemoryThatLapsedRaisesThem() {
        locks.token = 10;
        Guard guard = guard(MarkStore.memory());
        pass(DELTA);
        assertThat(refused(write(guard, 5)).reason())
                .as("older than the base mark")
                .isEqualTo(Reason.TOKEN_STALE);
        write(guard, 33).join().close();
        locks.expire(NAME);
        anotherGuardServes();
        pass(Duration.ofSeconds(5));
        assertThat(events("marks_raised")).hasSize(1);
        assertThat(refused(after(DELTA, guard, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(guard, 900)).isCompleted();
    }

    @Test
    void guardThatLapsedAndComesBackRaisesItsMarks() {
        Guard guard = guard(store("a"));
        write(guard, 33).join().close();
        locks.away = true;
        pass(Duration.ofSeconds(20));
        assertThat(write(guard, 33))
                .as("an outage stops nothing")
                .isCompleted()
                .satisfies(call -> call.join().close());
        anotherGuardServes();
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(events("marks_behind"))
                .singleElement()
                .asString()
                .contains(NAME, "remembers: [101, 103, 501]", "refused once");
        assertThat(events("marks_raised")).singleElement().asString().contains("name=shop.Orders", "wait_ms=30000");
        assertThat(guard.isServing()).isTrue();
        CompletableFuture<Admission> early = write(guard, 900);
        pass(WAIT);
        assertThat(refused(early).reason()).isEqualTo(Reason.DRAINING);
        pass(DELTA);
        assertThat(refused(write(guard, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(refused(write(guard, 400)).reason())
                .as("admitted by the other at most")
                .isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(guard, 900)).isCompleted();
    }

    /** No other guard came: nothing is refused. */
    @Test
    void guardThatLapsedAloneContinuesItsMarks() {
        Guard guard = guard(store("a"));
        write(guard, 33).join().close();
        locks.expire(NAME);
        pass(Duration.ofSeconds(5));
        assertThat(locks.holder(NAME)).contains("guard with marks a");
        assertThat(write(guard, 33)).isCompleted();
        assertThat(lines).noneMatch(line -> line.startsWith("event=marks_"));
    }

    /** From the reply that the registration has ended to the next one, another guard may have the name. */
    @Test
    void guardThatHasLapsedAdmitsNothingBeforeTheNextAnswer() {
        Guard guard = guard(store("a"));
        write(guard, 33).join().close();
        anotherGuardServes();
        locks.awayAfterRenewal = true;
        pass(Duration.ofSeconds(5));
        assertThat(refused(write(guard, 33)).message()).contains("has not answered yet");
        locks.away = false;
        pass(Duration.ofSeconds(2));
        assertThat(guard.isServing()).isTrue();
        assertThat(refused(after(DELTA, guard, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void refusedGuardThatIsStartedAgainRaisesItsMarks() {
        SlowMarkStore marks = store("a");
        Guard first = guard(marks);
        write(first, 33).join().close();
        first.close();
        locks.give(NAME, "other", "guard with marks x");
        Guard refused = guard(marks);
        assertThat(refused.isServing()).isFalse();
        refused.close();
        locks.expire(NAME);
        Guard again = guard(marks);
        assertThat(again.isServing()).isTrue();
        assertThat(refused(after(DELTA, again, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    /** The lock server that could show it was started anew, and the store says that nothing was ever guarded. */
    @Test
    void refusedGuardRemembersItWithANeverUsedStore() {
        SlowMarkStore marks = store("a");
        locks.give(NAME, "other", "guard with marks x");
        guard(marks).close();
        locks.expire(NAME);
        locks.forget(NAME);
        Guard again = guard(marks);
        assertThat(events("marks_behind")).hasSize(1);
        assertThat(refused(after(DELTA, again, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void marksAreRaisedWhenTheLockServerRemembersNothing() {
        SlowMarkStore marks = store("a");
        Guard guard = guard(marks);
        write(guard, 33).join().close();
        guard.close();
        locks.forget(NAME);
        Guard again = guard(marks);
        assertThat(refused(after(DELTA, again, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(events("marks_raised")).hasSize(1);
    }

    @Test
    void marksAreRaisedWhenTheQuestionIsNotAnswered() {
        SlowMarkStore marks = store("a");
        Guard guard = guard(marks);
        write(guard, 33).join().close();
        guard.close();
        locks.forgetful = new Rejection(Reason.STORE_UNAVAILABLE, "no history today");
        Guard again = guard(marks);
        assertThat(again.isServing()).isFalse();
        CompletableFuture<Admission> early = write(again, 33);
        pass(Duration.ofSeconds(2));
        assertThat(early).as("held back until it is known").isNotDone();
        pass(Duration.ofSeconds(8));
        assertThat(locks.questions).isEqualTo(1 + 3);
        assertThat(again.isServing()).isTrue();
        assertThat(refused(early).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(refused(after(DELTA, again, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(events("marks_behind")).singleElement().asString().contains("(no history today)");
    }

    @Test
    void marksThatWereKeptWithoutARegistrationAreRaised() {
        SlowMarkStore marks = store("a");
        Guard guard = guard(marks);
        write(guard, 33).join().close();
        guard.close();
        marks.registrations.clear();
        assertThat(refused(after(DELTA, guard(marks), 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    /** A directory that was copied: one identity, two alternating guards. */
    @Test
    void guardsThatAlternateWithCopiesOfTheMarksRefuseLateWrites() {
        SlowMarkStore marks = store("a");
        Guard first = guard(marks);
        write(first, 33).join().close();
        first.close();
        SlowMarkStore copy = store("a");
        copy.marks.putAll(marks.marks);
        copy.registrations.putAll(marks.registrations);
        Guard second = guard(copy);
        assertThat(write(second, 34))
                .as("it continues the marks")
                .isCompleted()
                .satisfies(call -> call.join().close());
        second.close();
        assertThat(refused(after(DELTA, guard(marks), 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    /** An outage leaves a registered guard open, but not one that has to raise its marks first. */
    @Test
    void outageDuringARaiseOpensNothing() {
        locks.give(NAME, "observer", "observing guard with marks x");
        Guard guard = guard(store("a"));
        pass(DELTA);
        Admission running = write(guard, 900).join();
        locks.expire(NAME);
        anotherGuardServes();
        locks.barrierFails = true;
        pass(Duration.ofSeconds(4));
        assertThat(events("marks_behind")).isNotEmpty();
        locks.away = true;
        pass(Duration.ofSeconds(8));
        assertThat(guard.isServing()).isFalse();
        assertThat(refused(write(guard, 900)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        running.close();
    }

    /** Calls of the other guard may still run when this one is stopped and started again. */
    @Test
    void orderlyStopDoesNotEndTheWaitAfterARaise() {
        SlowMarkStore marks = store("a");
        Guard guard = guard(marks);
        write(guard, 33).join().close();
        locks.expire(NAME);
        anotherGuardServes();
        pass(Duration.ofSeconds(14));
        assertThat(events("marks_raised")).hasSize(1);
        guard.close();

        Guard again = guard(marks);
        CompletableFuture<Admission> call = write(again, 900);
        assertThat(call).as("within the wait").isNotCompletedExceptionally().isNotDone();
        again.close();
    }

    @Test
    void pauseThenOutageAdmitsNothing() {
        Guard guard = guard(store("a"));
        write(guard, 33).join().close();
        locks.away = true;
        time.pass(Duration.ofMinutes(1));
        assertThat(guard.isServing()).isFalse();
        assertThat(refused(write(guard, 33)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
    }

    @Test
    void raiseThatWasCutShortIsDoneAgain() {
        SlowMarkStore marks = store("a");
        Guard guard = guard(marks);
        write(guard, 33).join().close();
        guard.close();
        anotherGuardServes();
        marks.syncsAtOnce = false;
        Guard killed = guard(marks);
        assertThat(killed.isServing()).as("nothing is durable yet").isFalse();
        locks.expire(NAME);
        marks.syncsAtOnce = true;
        Guard again = guard(marks);
        assertThat(events("marks_behind")).hasSize(2);
        assertThat(refused(after(DELTA, again, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    /** A call that goes on keeps its resource closed, also for grants that are newer than the raised mark. */
    @Test
    void callThatRunsWhileMarksAreRaisedIsStoppedAndWaitedFor() {
        Guard guard = guard(store("a"));
        AtomicInteger stopped = new AtomicInteger();
        Admission running = write(guard, 33).join();
        running.onSuperseded(stopped::incrementAndGet);
        locks.expire(NAME);
        anotherGuardServes();
        pass(Duration.ofSeconds(5));
        assertThat(stopped).hasValue(1);
        pass(DELTA);
        assertThat(refused(write(guard, 33)).reason())
                .as("of its own grant too")
                .isEqualTo(Reason.TOKEN_STALE);
        assertThat(refused(write(guard, 400)).reason()).isEqualTo(Reason.TOKEN_STALE);
        CompletableFuture<Admission> newer = write(guard, 900);
        assertThat(newer).isNotDone();
        running.close();
        assertThat(newer).isCompleted();
    }

    /** The marks that a call in waiting was compared with are old: it is compared anew. */
    @Test
    void callThatWaitsWhileMarksAreRaisedIsRefused() {
        Guard guard = guard(store("a"));
        Admission running = write(guard, 33).join();
        locks.expire(NAME);
        anotherGuardServes();
        CompletableFuture<Admission> waiting = write(guard, 34);
        pass(Duration.ofSeconds(4));
        assertThat(refused(waiting).reason()).isEqualTo(Reason.TOKEN_STALE);
        running.close();
    }

    /**
     * Promised: once the marks are raised, every grant of the time before is refused, also where room is made for other marks
     * meanwhile. The marks of calls that end before their barrier token is there are too low for a base mark.
     */
    @Test
    void roomThatIsMadeDuringARaiseKeepsTheBaseMarkAbove() {
        SlowMarkStore marks = store("a");
        Guard guard = builder(marks).maxMarks(MARKS_MAX).build();
        List<Admission> running = new ArrayList<>();
        for (int i = 1; i <= MARKS_MAX; i++) {
            running.add(write(guard, "part/" + i, 33).join());
        }
        locks.slowIsAlive = new CompletableFuture<>();
        CompletableFuture<Admission> checked = guard.enterAsync(
                signed(34), Access.WRITE, Check.ONLINE, DELTA, new Binding("part/0", new LockName("orders/42")));
        locks.slowBarrier = new CompletableFuture<>();
        locks.expire(NAME);
        anotherGuardServes();
        pass(Duration.ofSeconds(4));
        assertThat(events("marks_behind")).hasSize(1);
        running.forEach(Admission::close);
        locks.slowIsAlive.complete(null);
        locks.slowBarrier.complete(null);
        assertThat(guard.isServing()).isTrue();
        assertThat(refused(checked).reason()).as("during the raise").isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(marks.bases.values())
                .as("base marks are barrier tokens")
                .isNotEmpty()
                .allMatch(base -> base.token() > 500);
        pass(DELTA);
        assertThat(refused(write(guard, "part/new", 400)).reason())
                .as("a grant of the other guard's time")
                .isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(guard, "part/new", 900)).isCompleted();
    }

    private static CompletableFuture<Admission> write(Guard guard, String resource, long token) {
        return guard.enterAsync(signed(token), Access.WRITE, new Binding(resource, new LockName("orders/42")));
    }

    /** Beside a holder whose registration these marks do not know, other guards may serve. */
    @Test
    void guardBesideAnUnknownRegistrationRaisesItsMarksOnce() {
        SlowMarkStore marks = store("a");
        Guard guard = guard(marks);
        write(guard, 33).join().close();
        guard.close();
        locks.give(NAME, "observer", "observing guard with marks x");
        Guard beside = guard(marks);
        assertThat(beside.isServing()).isTrue();
        assertThat(refused(after(DELTA, beside, 33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(write(beside, 900)).isCompleted();
        assertThat(events("marks_raised")).hasSize(1);
        assertThat(locks.questions).isEqualTo(1);
    }

    @Test
    void processThatWasPausedAsksBeforeItAdmitsAnything() {
        Guard guard = guard(store("a"));
        write(guard, 33).join().close();
        anotherGuardServes();
        locks.slowNext = new CompletableFuture<>();
        time.pass(Duration.ofMinutes(1));
        assertThat(refused(write(guard, 33)).message()).contains("has not answered yet", "not renewed in time");
        locks.slowNext.complete(null);
    }

    private List<String> events(String name) {
        return lines.stream()
                .filter(line -> line.startsWith("event=" + name + " "))
                .toList();
    }

    private CompletableFuture<Admission> after(Duration time, Guard guard, long token) {
        pass(time);
        return write(guard, token);
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
