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
import dev.palisade.guard.Admission.Retention;
import dev.palisade.guard.MarkStore.StoredMark;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** {@link Guard} with time and disk in the test's hands; what runs on its executor runs on the test's thread. */
class GuardTest {
    private static final SequencerKeys KEYS = SequencerKeys.generate();
    private static final Binding ORDER = Binding.of("orders/42");
    private static final Duration WAIT = Duration.ofSeconds(5);
    private static final Duration DELTA = Duration.ofSeconds(30);

    private final ManualTime time = new ManualTime();
    private final SlowMarkStore store = new SlowMarkStore();
    private Guard guard = open();

    private Guard open() {
        return builder().build();
    }

    /** Of a guard after one that was closed in order, unless the test opens it by {@link #open}. */
    private Guard.Builder another() {
        store.closedInOrder = true;
        return builder();
    }

    private Guard.Builder builder() {
        return Guard.builder(KEYS.verifier("palisade"), store)
                .executor(Runnable::run)
                .time(time)
                .maxWait(WAIT)
                .unknownOutcomeTimeout(DELTA);
    }

    @Test
    void aFirstCallWaitsForItsMarkToBeDurable() {
        CompletableFuture<Admission> call = write(33);
        assertThat(call).isNotDone();
        store.sync();
        assertThat(call).isCompleted();
        assertThat(store.marks)
                .hasEntrySatisfying(
                        "orders/42",
                        kept -> assertThat(kept.mark().exclusiveToken()).isEqualTo(33));
    }

    @Test
    void aSecondCallOfTheSameGrantIsLetInAtOnceBesideTheFirst() {
        admitted(write(33));
        assertThat(write(33)).isCompleted();
        assertThat(store.pending()).isZero();
        assertThat(guard.stats().admitted()).isEqualTo(2);
    }

    @Test
    void aStaleCallIsRefusedAndToldWhy() {
        admitted(write(34)).close();
        Rejection rejection = refused(write(33));
        assertThat(rejection.reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.MARK_GRANT, grant(34).toString())
                .containsEntry(Rejection.SUPERSEDED_AT_MILLIS, "1700000000000")
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(guard.stats().refused()).containsEntry(Reason.TOKEN_STALE, 1L);
    }

    @Test
    void aRefusalIsToldOnlyWhenTheMarkThatCausedItIsDurable() {
        CompletableFuture<Admission> newer = write(34);
        CompletableFuture<Admission> older = write(33);
        assertThat(older).isNotDone();
        store.sync();
        assertThat(newer).isCompleted();
        assertThat(refused(older).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void aNewerGrantWaitsForTheOlderOnesCallToEnd() {
        Admission old = admitted(write(33));
        CompletableFuture<Admission> next = write(34);
        store.sync();
        assertThat(next).isNotDone();
        old.close();
        assertThat(next).isCompleted();
    }

    @Test
    void aWaitThatIsTooLongEndsAsDrainingAndTheMarkStaysRaised() {
        Admission old = admitted(write(33));
        CompletableFuture<Admission> next = write(34);
        store.sync();
        time.pass(WAIT);
        assertThat(refused(next).reason()).isEqualTo(Reason.DRAINING);
        assertThat(refused(write(33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        CompletableFuture<Admission> again = write(34);
        assertThat(again).as("it waits as before").isNotDone();
        old.close();
        assertThat(again).isCompleted();
    }

    @Test
    void aCallThatIsNoLongerWantedLeavesAndHoldsNobodyUp() {
        Admission old = admitted(write(33));
        CompletableFuture<Admission> next = write(34);
        store.sync();
        next.cancel(false);
        old.close();
        CompletableFuture<Admission> after = write(35);
        store.sync();
        assertThat(after).isCompleted();
        assertThat(guard.stats().waiting()).isZero();
        assertThat(time.timers()).as("timers left behind").isZero();
    }

    @Test
    void readersShareAndAWriterWaitsForAllOfThem() {
        Admission one = admitted(read(33, Mode.SHARED));
        Admission two = admitted(read(34, Mode.SHARED));
        CompletableFuture<Admission> writer = write(35);
        store.sync();
        one.close();
        assertThat(writer).isNotDone();
        two.close();
        assertThat(writer).isCompleted();
        assertThat(refused(read(34, Mode.SHARED)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void aSharedGrantMayNotWrite() {
        Rejection rejection = refused(enter(signed("orders/42", 33, Mode.SHARED), Access.WRITE));
        assertThat(rejection.reason()).isEqualTo(Reason.MODE_NOT_ALLOWED);
        assertThat(store.pending()).isZero();
    }

    /** Each guard can sign with the HMAC keyset of its group. What it can sign moves no mark of another group's guard. */
    @Test
    void sequencerOfAnotherGuardGroupMovesNothing() {
        SequencerKeys reports = SequencerKeys.generate();
        store.closedInOrder = true;
        guard = Guard.builder(KEYS.verifier("palisade", "payments"), store)
                .executor(Runnable::run)
                .time(time)
                .build();
        Sequencer highest = sequencer("orders/42", FencingToken.MAX, Mode.EXCLUSIVE);
        for (SignedSequencer foreign : List.of(
                reports.sign(highest),
                reports.sign(highest.forAudience("reports")),
                reports.sign(highest.forAudience("payments")),
                KEYS.sign(highest),
                KEYS.sign(highest.forAudience("reports")))) {
            assertThat(refused(enter(foreign, Access.WRITE)).reason()).isEqualTo(Reason.SEQUENCER_INVALID);
        }
        assertThat(store.pending()).isZero();
        SignedSequencer own =
                KEYS.sign(sequencer("orders/42", 33, Mode.EXCLUSIVE).forAudience("payments"));
        assertThat(admitted(enter(own, Access.WRITE))).isNotNull();
    }

    @Test
    void aSequencerOfAnotherLockOrAnotherKeyMovesNothing() {
        assertThat(refused(enter(signed("orders/43", 99, Mode.EXCLUSIVE), Access.WRITE))
                        .reason())
                .isEqualTo(Reason.WRONG_RESOURCE);
        SignedSequencer forged =
                SequencerKeys.generate().sign(sequencer("orders/42", FencingToken.MAX, Mode.EXCLUSIVE));
        assertThat(refused(enter(forged, Access.WRITE)).reason()).isEqualTo(Reason.SEQUENCER_INVALID);
        assertThat(store.pending()).isZero();
        assertThat(guard.mark("orders/42")).isEmpty();
    }

    @Test
    void aWriteWhoseCallerHasGoneKeepsItsOwnGrantOutUntilItHasEnded() {
        Admission writing = admitted(write(33));
        CompletableFuture<Admission> beside = write(33);
        admitted(beside).close();
        writing.callerGone();
        writing.callerGone();
        time.pass(DELTA);
        CompletableFuture<Admission> again = read(33, Mode.EXCLUSIVE);
        assertThat(again).as("it is still seen to run").isNotDone();
        writing.close();
        admitted(again).close();
        assertThat(guard.stats().waiting()).isZero();
    }

    @Test
    void aWriteWhoseCallerHasGoneAndWhoseOutcomeIsUnknownIsWaitedForForDelta() {
        Admission writing = admitted(write(33));
        writing.callerGone();
        time.pass(DELTA);
        var unused = writing.outcomeUnknown();
        time.pass(DELTA.minus(WAIT).plusMillis(1));
        CompletableFuture<Admission> again = read(33, Mode.EXCLUSIVE);
        assertThat(again).isNotDone();
        time.pass(WAIT.minusMillis(1));
        admitted(again).close();
        admitted(write(33)).close();
    }

    @Test
    void aReadWhoseCallerHasGoneKeepsItsOwnGrantInAndOneThatHasEndedDoesNothing() {
        Admission reading = admitted(read(33, Mode.EXCLUSIVE));
        reading.callerGone();
        admitted(write(33)).close();
        reading.close();
        reading.callerGone();
        admitted(write(34)).close();
    }

    @Test
    void aCallThatWasLostSightOfKeepsOthersOutUntilItsTimeIsOver() {
        var ignored = admitted(write(33)).outcomeUnknown();
        CompletableFuture<Admission> next = write(34);
        store.sync();
        assertThat(refused(write(33)).reason()).isEqualTo(Reason.TOKEN_STALE);
        time.pass(WAIT);
        assertThat(refused(next).reason()).isEqualTo(Reason.DRAINING);
        time.pass(DELTA);
        assertThat(write(34)).isCompleted();
    }

    @Test
    void aCallThatWasLostSightOfIsOverWhenItIsKnownToBe() {
        Admission lost = admitted(write(33));
        var ignored = lost.outcomeUnknown();
        CompletableFuture<Admission> next = write(34);
        store.sync();
        assertThat(next).isNotDone();
        lost.close();
        assertThat(next).isCompleted();
    }

    @Test
    void writeWithUnknownOutcomeBlocksItsOwnHolderToo() {
        var ignored = admitted(write(33)).outcomeUnknown();
        CompletableFuture<Admission> reread = read(33, Mode.EXCLUSIVE);
        assertThat(reread).isNotDone();
        time.pass(WAIT);
        assertThat(refused(reread).reason()).isEqualTo(Reason.DRAINING);
        time.pass(DELTA);
        assertThat(read(33, Mode.EXCLUSIVE)).isCompleted();
    }

    @Test
    void aWriteThatWasLostSightOfWhileItsWorkIsRetainedKeepsItsHolderOut() {
        Admission lost = admitted(write(33));
        Retention work = lost.retain();
        var ignored = lost.outcomeUnknown();
        CompletableFuture<Admission> reread = read(33, Mode.EXCLUSIVE);
        assertThat(reread).isNotDone();
        lost.close();
        assertThat(reread).as("the work has not ended").isNotDone();
        work.close();
        assertThat(reread).isCompleted();
    }

    @Test
    void aReadThatWasLostSightOfIsNotInItsHoldersWay() {
        var ignored = admitted(read(33, Mode.EXCLUSIVE)).outcomeUnknown();
        assertThat(write(33)).isCompleted();
    }

    @Test
    void workThatOutlivesItsCallKeepsTheAdmissionOpen() {
        Admission call = admitted(write(33));
        Retention work = call.retain();
        call.close();
        CompletableFuture<Admission> next = write(34);
        store.sync();
        assertThat(next).isNotDone();
        work.close();
        work.close();
        assertThat(next).isCompleted();
        assertThatThrownBy(call::retain).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void whoStandsInTheWayOfANewerGrantIsAskedToStopOnce() {
        AtomicInteger asked = new AtomicInteger();
        Admission old = admitted(write(33));
        old.onSuperseded(asked::incrementAndGet);
        CompletableFuture<Admission> newer = write(34);
        assertThat(asked).as("not before the mark is durable").hasValue(0);
        store.sync();
        CompletableFuture<Admission> another = write(34);
        assertThat(List.of(newer, another)).noneMatch(CompletableFuture::isDone);
        assertThat(asked).hasValue(1);
        old.onSuperseded(asked::incrementAndGet);
        assertThat(asked).as("who asks late is told at once").hasValue(2);
    }

    @Test
    void everyoneWhoWantsToHearOfANewerGrantDoes() {
        Admission old = admitted(write(33));
        List<String> told = new ArrayList<>();
        old.onSuperseded(() -> told.add("an interceptor"));
        old.onSuperseded(() -> told.add("a handler"));
        var unused = write(34);
        store.sync();
        assertThat(told).containsExactly("an interceptor", "a handler");
    }

    @Test
    void afterARestartEveryoneWaitsAlsoTheGrantThatWasIn() {
        admitted(write(33));
        guard = open();
        CompletableFuture<Admission> same = write(33);
        CompletableFuture<Admission> newer = write(34);
        store.sync();
        assertThat(same).isCompletedExceptionally();
        assertThat(newer).isNotDone();
        time.pass(WAIT);
        assertThat(refused(newer).reason()).isEqualTo(Reason.DRAINING);
        time.pass(DELTA.minus(WAIT));
        assertThat(write(34)).isCompleted();
    }

    /** The clock passes the end of the wait between any two readings of the call that comes just then. */
    @Test
    void aCallThatComesAtTheEndOfTheWaitAfterARestartIsAdmitted() {
        admitted(write(33));
        for (int readings = 1; readings <= 12; readings++) {
            guard = open();
            time.pass(DELTA.minusNanos(readings));
            time.nanosPerReading = 1;
            CompletableFuture<Admission> same = write(33);
            time.nanosPerReading = 0;
            time.pass(Duration.ofNanos(readings));
            assertThat(same).as("%d readings before the end", readings).isCompleted();
        }
    }

    @Test
    void afterAnOrderlyCloseNobodyWaits() {
        admitted(write(33)).close();
        guard.close();
        assertThat(refused(write(33)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        guard = open();
        assertThat(write(33)).isCompleted();
        guard.close();
        guard = open();
        CompletableFuture<Admission> afterAnUnclosedCall = write(33);
        assertThat(afterAnUnclosedCall).isNotDone();
    }

    @Test
    void whoWaitsWhenTheGuardIsClosedIsNeverLetIn() {
        Admission old = admitted(write(33));
        CompletableFuture<Admission> next = write(34);
        CompletableFuture<Admission> another = write(34);
        store.sync();
        guard.close();
        old.close();
        assertThat(refused(next).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(refused(another).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(store.closedInOrder).isFalse();
    }

    @Test
    void aBlockingCallIsLetInOrToldTheSameReason() throws Exception {
        store.syncsAtOnce = true;
        guard.enter(signed("orders/42", 34, Mode.EXCLUSIVE), Access.WRITE, ORDER)
                .close();
        assertThatThrownBy(() -> guard.enter(signed("orders/42", 33, Mode.EXCLUSIVE), Access.WRITE, ORDER))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
    }

    @Test
    void anInterruptedCallerLeavesNothingBehind() {
        store.syncsAtOnce = true;
        Admission old = admitted(write(33));
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> guard.enter(signed("orders/42", 34, Mode.EXCLUSIVE), Access.WRITE, ORDER))
                .isInstanceOf(InterruptedException.class);
        assertThat(guard.stats().waiting()).isZero();
        old.close();
        assertThat(write(35)).isCompleted();
    }

    @Test
    void aRefusalAfterARestartSaysHowLongItLasts() {
        admitted(write(33));
        guard = open();
        CompletableFuture<Admission> newer = write(34);
        store.sync();
        time.pass(WAIT);
        assertThat(refused(newer).message()).contains("just started").contains("25000 ms");
        assertThat(refused(newer).metadata()).containsEntry(Rejection.RETRY_AFTER_MILLIS, "25000");
    }

    @Test
    void aMarkThatCannotBeKeptLetsNobodyIn() {
        CompletableFuture<Admission> first = write(33);
        store.fail();
        assertThat(refused(first).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
    }

    @Test
    void aStoreThatAnotherGuardTookLetsNobodyInAlsoNotTheGrantThatWas() {
        store.heldForLife = false;
        admitted(write(33)).close();
        admitted(write(33)).close();
        store.taken = true;
        assertThat(refused(write(33)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        store.taken = false;
        assertThat(refused(write(33)).reason()).as("lost for good").isEqualTo(Reason.MARK_UNAVAILABLE);
    }

    @Test
    void aCallWhoseMarksTheStoreCannotConfirmNowMayComeAgain() {
        store.heldForLife = false;
        admitted(write(33)).close();
        store.confirmed = CompletableFuture.failedFuture(
                new Rejection(Reason.MARK_UNAVAILABLE, "the database is away").asException());
        assertThat(refused(write(33)).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        store.confirmed = CompletableFuture.completedFuture(null);
        assertThat(write(33))
                .as("the refused call is not left behind as running")
                .isCompleted();
    }

    @Test
    void aNewStoreRefusesAllEarlierGrantsOfTheDomainAndWaitsForTheirCalls() {
        store.complete = false;
        store.closedInOrder = false;
        guard = builder().lockService(answering(40, true)).build();
        CompletableFuture<Admission> earlier = write(39);
        store.sync();
        assertThat(refused(earlier).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(refused(earlier).message()).contains("base mark 40");
        assertThat(refused(earlier).metadata()).doesNotContainKey(Rejection.MARK_GRANT);
        CompletableFuture<Admission> later = write(41);
        store.sync();
        assertThat(later).isNotDone();
        time.pass(WAIT);
        assertThat(refused(later).reason()).isEqualTo(Reason.DRAINING);
        time.pass(DELTA.minus(WAIT));
        assertThat(write(41)).isCompleted();
        assertThat(store.bases).hasSize(1);
    }

    @Test
    void aNewStoreWithNobodyToAskRefusesLoudly() {
        store.complete = false;
        guard = open();
        Rejection rejection = refused(write(33));
        assertThat(rejection.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(rejection.message()).contains("barrier");
    }

    @Test
    void aResourceThatIsBoundAnewStartsFromAFreshTokenAfterATime() {
        store.marks.put(
                "orders/42",
                new StoredMark("orders/42", "palisade", new LockName("old"), new Mark(90, grant(90), 0), 0));
        guard = another().lockService(answering(40, true)).build();
        CompletableFuture<Admission> call = write(41);
        store.sync();
        store.sync();
        assertThat(call).isNotDone();
        time.pass(WAIT);
        time.pass(DELTA);
        assertThat(write(41)).isCompleted();
        assertThat(refused(write(39)).reason()).isEqualTo(Reason.TOKEN_STALE);
    }

    @Test
    void aResourceCannotBeBoundToTwoLocks() {
        admitted(write(33));
        CompletableFuture<Admission> other = guard.enterAsync(
                signed("invoices/1", 50, Mode.EXCLUSIVE),
                Access.WRITE,
                new Binding("orders/42", new LockName("invoices/1")));
        assertThat(refused(other).reason()).isEqualTo(Reason.WRONG_RESOURCE);
    }

    @Test
    void severalResourcesAreEnteredTogetherOrNotAtAll() {
        store.syncsAtOnce = true;
        LockName lock = new LockName("orders/42");
        Binding a = new Binding("a", lock);
        Binding b = new Binding("b", lock);
        Admission onB = admittedAtOnce(guard.enterAsync(signed("orders/42", 33, Mode.EXCLUSIVE), Access.WRITE, b));
        CompletableFuture<Admission> both =
                guard.enterAsync(signed("orders/42", 34, Mode.EXCLUSIVE), Access.WRITE, b, a, b);
        assertThat(both).isNotDone();
        time.pass(WAIT);
        assertThat(refused(both).reason()).isEqualTo(Reason.DRAINING);
        assertThat(guard.enterAsync(signed("orders/42", 35, Mode.EXCLUSIVE), Access.WRITE, a))
                .as("a was left again")
                .isCompleted();
        onB.close();
    }

    /** {@code b} was bound to another lock before, so its mark begins with a barrier, which never comes. */
    private CompletableFuture<Admission> enterBothWhereTheSecondIsNeverKnown() {
        store.syncsAtOnce = true;
        LockName lock = new LockName("orders/42");
        store.marks.put("b", new StoredMark("b", "palisade", new LockName("old"), new Mark(90, grant(90), 0), 0));
        guard = another().lockService(silent()).build();
        CompletableFuture<Admission> both = guard.enterAsync(
                signed("orders/42", 33, Mode.EXCLUSIVE), Access.WRITE, new Binding("a", lock), new Binding("b", lock));
        assertThat(both).isNotDone();
        return both;
    }

    private void assertThatTheFirstWasLeft() {
        assertThat(guard.enterAsync(
                        signed("orders/42", 34, Mode.EXCLUSIVE),
                        Access.WRITE,
                        new Binding("a", new LockName("orders/42"))))
                .isCompleted();
    }

    @Test
    void aSecondResourceWhoseMarkIsNotKnownInTimeKeepsNobodyInTheFirst() {
        CompletableFuture<Admission> both = enterBothWhereTheSecondIsNeverKnown();
        time.pass(WAIT);
        assertThat(refused(both).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(guard.stats().waiting()).isZero();
        assertThatTheFirstWasLeft();
    }

    @Test
    void whoCancelsWhileASecondResourceIsLookedUpLeavesTheFirstAtOnce() {
        assertThat(enterBothWhereTheSecondIsNeverKnown().cancel(false)).isTrue();
        assertThatTheFirstWasLeft();
    }

    @Test
    void anOnlineCheckRefusesALeaseThatEndedAlthoughNobodyCameAfterIt() {
        store.syncsAtOnce = true;
        guard = another().lockService(answering(0, false)).build();
        CompletableFuture<Admission> call =
                guard.enterAsync(signed("orders/42", 33, Mode.EXCLUSIVE), Access.WRITE, Check.ONLINE, WAIT, ORDER);
        assertThat(refused(call).reason()).isEqualTo(Reason.LEASE_EXPIRED);
        assertThat(store.marks).isEmpty();
    }

    private static LockService silent() {
        return new GrantingLocks() {
            @Override
            public CompletionStage<Long> barrier(LockName lock) {
                return new CompletableFuture<>();
            }

            @Override
            public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
                return new CompletableFuture<>();
            }
        };
    }

    @Test
    void anOnlineCheckNeedsSomebodyToAsk() {
        assertThatThrownBy(() -> guard.enterAsync(
                        signed("orders/42", 33, Mode.EXCLUSIVE), Access.WRITE, Check.ONLINE, WAIT, ORDER))
                .hasMessageContaining("lockService");
        assertThat(guard.stats().waiting()).isZero();
    }

    @Test
    void anOnlineCheckWithoutAnAnswerEndsAtItsDeadline() {
        guard = another().lockService(silent()).build();
        CompletableFuture<Admission> call =
                guard.enterAsync(signed("orders/42", 33, Mode.EXCLUSIVE), Access.WRITE, Check.ONLINE, WAIT, ORDER);
        assertThat(call).isNotDone();
        time.pass(WAIT);
        assertThat(refused(call).reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(guard.stats().waiting()).isZero();
    }

    @Test
    void aGuardThatOnlyObservesLetsEverythingInAndCounts() {
        guard = another().observeOnly().build();
        admittedAtOnce(write(34));
        admittedAtOnce(write(33));
        admittedAtOnce(enter(signed("other", 99, Mode.EXCLUSIVE), Access.WRITE));
        assertThat(guard.recordRefusal(new Rejection(Reason.SEQUENCER_MISSING, "none")))
                .isFalse();
        assertThat(guard.stats().wouldRefuse())
                .containsEntry(Reason.TOKEN_STALE, 1L)
                .containsEntry(Reason.WRONG_RESOURCE, 1L)
                .containsEntry(Reason.SEQUENCER_MISSING, 1L)
                .hasSize(3);
        assertThat(guard.stats().refused()).isEmpty();
    }

    @Test
    void noMoreWaitThanMay() {
        guard = another().maxWaitingCalls(1).build();
        CompletableFuture<Admission> waiting = write(33);
        Rejection rejection = refused(write(34));
        assertThat(waiting).isNotDone();
        assertThat(rejection.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        store.sync();
        assertThat(write(33)).isCompleted();
    }

    @Test
    void noMoreMarksAreKeptThanMayAndWhatIsForgottenIsRefused() {
        store.syncsAtOnce = true;
        guard = another().maxMarks(256).build();
        for (int i = 1; i <= 2000; i++) {
            admittedAtOnce(guard.enterAsync(
                            signed("lock/" + i, i, Mode.EXCLUSIVE), Access.WRITE, Binding.of("lock/" + i)))
                    .close();
            assertThat(store.marks).hasSizeLessThanOrEqualTo(256);
        }
        List<Integer> admittedAgain = new ArrayList<>();
        for (int i = 1; i <= 2000; i++) {
            String name = "lock/" + i;
            CompletableFuture<Admission> again = guard.enterAsync(
                    KEYS.sign(new Sequencer(
                            "palisade", new LockName(name), Mode.EXCLUSIVE, new FencingToken(i), new GrantId(7, 7), 0)),
                    Access.WRITE,
                    Binding.of(name));
            if (!again.isCompletedExceptionally()) {
                admittedAgain.add(i);
            }
        }
        assertThat(admittedAgain).as("other grants of tokens that were used").isEmpty();
    }

    @Test
    void aBaseMarkNeverFallsAlsoWhileARaisedOneIsOnItsWayToTheDisk() {
        store.syncsAtOnce = true;
        guard = another().maxMarks(256).build();
        List<Admission> busy = new ArrayList<>();
        for (int i = 1; i <= 100; i++) {
            busy.add(admittedAtOnce(onTheLock("busy/" + i, i)));
        }
        for (int i = 1; i <= 156; i++) {
            admittedAtOnce(onTheLock("idle/" + i, 1000 + i)).close();
        }
        store.syncsAtOnce = false;
        List<CompletableFuture<Admission>> waiting = new ArrayList<>();
        waiting.add(write(1)); // Of another domain: makes room, and the marks of idle/1 and some more are dropped.
        busy.forEach(Admission::close);
        for (int i = 1; i <= 120; i++) {
            waiting.add(
                    guard.enterAsync(signed("lock/" + i, i, Mode.EXCLUSIVE), Access.WRITE, Binding.of("lock/" + i)));
        }
        assertThat(waiting).noneMatch(CompletableFuture::isDone);
        store.sync();
        CompletableFuture<Admission> former = onTheLock("idle/10", 500);
        store.sync();
        assertThat(refused(former).reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(store.bases.values()).anyMatch(base -> base.token() > 1000);
    }

    private CompletableFuture<Admission> onTheLock(String resource, long token) {
        return guard.enterAsync(
                signed("lock", token, Mode.EXCLUSIVE), Access.WRITE, new Binding(resource, new LockName("lock")));
    }

    @Test
    void resourcesThatAreBusyAreNotInTheWayOfForgettingOthers() {
        store.syncsAtOnce = true;
        guard = another().maxMarks(256).build();
        LockName busy = new LockName("busy");
        for (int i = 1; i <= 200; i++) {
            admittedAtOnce(
                    guard.enterAsync(signed("busy", 1, Mode.EXCLUSIVE), Access.WRITE, new Binding("busy/" + i, busy)));
        }
        for (int i = 1; i <= 2000; i++) {
            admittedAtOnce(guard.enterAsync(
                            signed("lock/" + i, i, Mode.EXCLUSIVE), Access.WRITE, Binding.of("lock/" + i)))
                    .close();
            assertThat(store.marks).hasSizeLessThanOrEqualTo(256);
        }
        assertThat(store.marks.keySet())
                .filteredOn(name -> name.startsWith("busy/"))
                .hasSize(200);
    }

    @Test
    void whoWaitsIsToldOnTheGuardsExecutorAndNotByTheCallThatMadeRoom() {
        List<Runnable> handed = new ArrayList<>();
        store.syncsAtOnce = true;
        guard = another().executor(handed::add).build();
        CompletableFuture<Admission> first = write(33);
        assertThat(first).isNotDone();
        handed.remove(0).run();
        CompletableFuture<Admission> next = write(34);
        first.join().close();
        assertThat(next).isNotDone();
        handed.forEach(Runnable::run);
        assertThat(next).isCompleted();
    }

    private CompletableFuture<Admission> write(long token) {
        return enter(signed("orders/42", token, Mode.EXCLUSIVE), Access.WRITE);
    }

    private CompletableFuture<Admission> read(long token, Mode mode) {
        return enter(signed("orders/42", token, mode), Access.READ);
    }

    private CompletableFuture<Admission> enter(SignedSequencer signed, Access access) {
        return guard.enterAsync(signed, access, ORDER);
    }

    private Admission admitted(CompletableFuture<Admission> call) {
        store.sync();
        return admittedAtOnce(call);
    }

    private static Admission admittedAtOnce(CompletableFuture<Admission> call) {
        assertThat(call).isCompleted();
        return call.join();
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

    private static LockService answering(long barrier, boolean alive) {
        return new GrantingLocks() {
            @Override
            public CompletionStage<Long> barrier(LockName lock) {
                return CompletableFuture.completedStage(barrier);
            }

            @Override
            public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
                return CompletableFuture.completedStage(alive);
            }
        };
    }

    private static SignedSequencer signed(String lock, long token, Mode mode) {
        return KEYS.sign(sequencer(lock, token, mode));
    }

    private static Sequencer sequencer(String lock, long token, Mode mode) {
        return new Sequencer("palisade", new LockName(lock), mode, new FencingToken(token), grant(token), 0);
    }

    private static GrantId grant(long token) {
        return new GrantId(1, token);
    }
}
