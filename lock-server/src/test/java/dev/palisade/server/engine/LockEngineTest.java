package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.explain.GrantExplanation;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine before a store that can be busy; with the real one it is tested through its gRPC face. */
class LockEngineTest {
    private static final SessionId SESSION = new SessionId(1, 1);

    private final BusyStore store = new BusyStore();
    private final Deque<Runnable> timed = new ArrayDeque<>();
    private final List<String> events = new ArrayList<>();
    private final LockEngine engine = new LockEngine(
            store,
            sequencer -> {
                throw new IllegalStateException("nothing is granted here");
            },
            signed -> {
                throw new IllegalStateException("nothing is verified here");
            },
            new EngineConfig("palisade", 1_000, 2_000, 100),
            (millis, task) -> timed.add(task),
            new EventLog(events::add, () -> 0, 1),
            new byte[16]);

    @Test
    void whatADeadClientWaitedForIsGivenBackEvenIfTheStoreIsBusyAtFirst() {
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        var unused = engine.acquire(
                session,
                new LockEngine.AcquireParams(
                        new LockName("a"),
                        new RequestId(SESSION, 1),
                        Mode.EXCLUSIVE,
                        10_000,
                        60_000,
                        0,
                        0,
                        0,
                        "",
                        "",
                        1),
                LockQuota.NONE);
        engine.detach(session, EndCause.CONNECTION_BROKE);

        store.busy = true;
        timed.remove().run();
        timed.remove().run();
        store.busy = false;
        timed.remove().run();

        assertThat(store.taken).last().isEqualTo(new Leave(new LockName("a"), new RequestId(SESSION, 1), 1));
    }

    /** A slow store answers after the grace: with many calls in flight the cost must not be their square. */
    @Test
    void whatAGivenUpStreamGetsLateIsFreedByItselfAndNothingIsFreedAgain() {
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        LockName lock = new LockName("a");
        List<CompletableFuture<Answer>> late = new ArrayList<>();
        for (int i = 1; i <= 10; i++) {
            late.add(new CompletableFuture<>());
            store.acquired = late.get(i - 1);
            var unused = engine.acquire(
                    session,
                    new LockEngine.AcquireParams(
                            lock, new RequestId(SESSION, i), Mode.EXCLUSIVE, 10_000, 60_000, 0, 0, 0, "", "", 1),
                    LockQuota.NONE);
        }
        engine.detach(session, EndCause.CONNECTION_BROKE);
        timed.remove().run();
        assertThat(store.taken).filteredOn(Leave.class::isInstance).hasSize(10);
        store.taken.clear();

        Grant grant = new Grant(
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "", ""),
                new FencingToken(5),
                1,
                10_001);
        late.get(0).complete(new Answer.Granted(grant));
        late.get(1).complete(new Answer.Queued(1));

        assertThat(store.taken)
                .containsExactly(
                        new Abandon(lock, grant.id(), 1, EndCause.CONNECTION_BROKE),
                        new Leave(lock, new RequestId(SESSION, 2), 1));
    }

    private void waits(Session session, int count) {
        for (int i = 1; i <= count; i++) {
            var unused = engine.acquire(
                    session,
                    new LockEngine.AcquireParams(
                            new LockName("a" + i),
                            new RequestId(SESSION, i),
                            Mode.EXCLUSIVE,
                            10_000,
                            60_000,
                            0,
                            0,
                            0,
                            "",
                            "",
                            1),
                    LockQuota.NONE);
        }
    }

    /**
     * A client with 1,200 waiters is gone. Of each turn of the store it has 500 commands: what others ask in between waits for these
     * alone.
     */
    @Test
    void placesOfADeadClientAreFreedInSlices() {
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        waits(session, 1_200);
        engine.detach(session, EndCause.CONNECTION_BROKE);
        store.taken.clear();
        store.turn = new ArrayDeque<>();
        timed.remove().run();
        List<Integer> leavesBeforeEachTurn = new ArrayList<>();
        while (!Objects.requireNonNull(store.turn).isEmpty()) {
            leavesBeforeEachTurn.add(store.taken.size());
            store.endTurn();
        }
        assertThat(leavesBeforeEachTurn).containsExactly(500, 1_000, 1_200);
        assertThat(store.taken).hasSize(1_200).doesNotHaveDuplicates();
        assertThat(events).last().asString().contains("event=session_abandoned", "leases=0 waiting=1200");
    }

    @Test
    void whatANewerStreamTookOverIsNoAbandonedSession() {
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        waits(session, 2);
        engine.detach(session, EndCause.CONNECTION_BROKE);
        store.left = new Answer.Left(false);
        timed.remove().run();
        assertThat(store.taken).filteredOn(Leave.class::isInstance).hasSize(2);
        assertThat(events).noneMatch(line -> line.contains("session_abandoned"));
    }

    @Test
    void aKeepAliveThatOvertakesTheNewsOfAForcedReleaseSaysTheSame() throws Exception {
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        LockName lock = new LockName("a");
        Grant grant = new Grant(
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "", ""),
                new FencingToken(5),
                1,
                10_001);
        session.holds(grant, lock);
        store.renewal = new Answer.Refused(new Rejection(
                Reason.LEASE_EXPIRED,
                "over",
                Map.of(Rejection.ENDED, End.FORCE_RELEASED.name(), Rejection.DETAIL, "by ops: gone")));
        assertThat(engine.keepAlive(session).toCompletableFuture().get())
                .containsExactly(
                        new LockEngine.Lost(lock, grant.id(), Optional.of(End.FORCE_RELEASED), "by ops: gone"));

        session.holds(grant, lock);
        store.renewal = new Answer.Refused(
                new Rejection(Reason.LEASE_EXPIRED, "over", Map.of(Rejection.ENDED, End.EXPIRED.name())));
        assertThat(engine.keepAlive(session).toCompletableFuture().get())
                .containsExactly(new LockEngine.Lost(lock, grant.id(), Optional.of(End.EXPIRED), ""));

        session.holds(grant, lock);
        store.renewal = new Answer.Refused(new Rejection(Reason.TOKEN_MISMATCH, "held by another"));
        assertThat(engine.keepAlive(session).toCompletableFuture().get())
                .as("no end is known of it")
                .containsExactly(new LockEngine.Lost(lock, grant.id(), Optional.empty(), ""));
    }

    /** The store may execute it later: then nobody else would free it, and the principal could have more than its limit. */
    @Test
    void anAcquireOfUnknownOutcomeIsFreedWithItsStreamAndCountsUntilThen() {
        LockQuota quota = new LockQuota("web", 1, 1);
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        store.acquired = CompletableFuture.failedFuture(StoreFailure.outcomeUnknown("no reply"));
        var unusedFirst = engine.acquire(session, asked(1), quota);
        assertThat(engine.locksOf("web")).isEqualTo(1);
        assertThat(engine.sessionTotals().waiting()).isEqualTo(1);

        engine.detach(session, EndCause.CONNECTION_BROKE);
        List.copyOf(timed).forEach(Runnable::run);
        assertThat(store.taken)
                .last()
                .isEqualTo(new Leave(asked(1).lock(), new RequestId(SESSION, 1), 1, EndCause.CONNECTION_BROKE));
    }

    @Test
    void anAcquireThatTheStoreDidNotTakeIsForgotten() {
        LockQuota quota = new LockQuota("web", 1, 1);
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        store.acquired = CompletableFuture.failedFuture(StoreFailure.unavailable("no primary"));
        var unusedFirst = engine.acquire(session, asked(1), quota);
        assertThat(engine.locksOf("web")).isZero();
        assertThat(engine.sessionTotals().waiting()).isZero();
    }

    @Test
    void aCallOfUnknownOutcomeCountsForAllOfItsTime() {
        LockQuota quota = new LockQuota("web", 1, 1);
        store.acquired = CompletableFuture.failedFuture(StoreFailure.outcomeUnknown("no reply"));
        LockEngine.AcquireParams asked = asked(1);
        engine.callEnded(asked, engine.acquireUnary(asked, quota, Optional::empty));
        store.now += asked.waitMillis() + asked.ttlMillis() - 1;
        assertThat(engine.acquireUnary(asked(2), quota, Optional::empty).getNow(null))
                .isInstanceOfSatisfying(
                        Answer.Refused.class,
                        refused -> assertThat(refused.rejection().reason()).isEqualTo(Reason.LIMIT_EXCEEDED));
        store.now += 2 * LockUsage.SCAN_MILLIS;
        assertThat(engine.acquireUnary(asked(2), quota, Optional::empty).getNow(null))
                .isInstanceOfSatisfying(
                        Answer.Refused.class,
                        refused -> assertThat(refused.rejection().reason()).isEqualTo(Reason.OUTCOME_UNKNOWN));
    }

    /** The store reports an end after its reply, and a client may have sent the next acquire by then. */
    @Test
    void aReleasedLockIsOffTheCountBeforeTheReply() {
        LockName lock = new LockName("a");
        Grant grant = new Grant(
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "", ""),
                new FencingToken(5),
                1,
                10_001);
        engine.counted("web", lock, grant);
        assertThat(engine.locksOf("web")).isEqualTo(1);
        store.acquired = CompletableFuture.completedFuture(new Answer.Released());
        var unused = engine.release(new Release(lock, grant.id(), grant.token(), SESSION));
        assertThat(engine.locksOf("web")).isZero();
    }

    /** What a stream may be told is bounded by what it holds. */
    @Test
    void aStreamIsAskedForTheLeasesItHoldsAndForNoOthersOfItsSession() {
        Deaf peer = new Deaf();
        Session session = engine.attach(SESSION, 1, "", false, peer, SessionHolder.ANYONE);
        LockName lock = new LockName("a");
        Grant grant = new Grant(
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.SHARED, 10_000, 0, 0, "", ""),
                new FencingToken(5),
                1,
                10_001);
        session.holds(grant, lock);
        engine.changed(
                LockState.unused(lock, 0),
                List.of(
                        new LockEvent.ReleaseRequested(grant.request().id(), grant.id(), "ops", "why"),
                        new LockEvent.ReleaseRequested(new RequestId(SESSION, 2), new GrantId(1, 2), "ops", "why")),
                1);
        assertThat(peer.asked).containsExactly(grant.id());
    }

    /** A client that only opens and breaks streams must not be able to fill the memory during a long grace. */
    @Test
    void sessionsInGraceWithSomethingToLoseCountAgainstTheLimitAndEmptyOnesDoNot() {
        for (int i = 1; i <= 100; i++) {
            engine.detach(
                    engine.attach(new SessionId(2, i), 1, "", false, new Deaf(), SessionHolder.ANYONE),
                    EndCause.CONNECTION_BROKE);
        }
        for (int i = 1; i <= 100; i++) {
            SessionId id = new SessionId(1, i);
            Session session = engine.attach(id, 1, "", false, new Deaf(), SessionHolder.ANYONE);
            session.waits(new Session.Waiting(new LockName("a"), 1), 1);
            engine.detach(session, EndCause.CONNECTION_BROKE);
        }
        assertThatThrownBy(() -> engine.attach(new SessionId(3, 1), 1, "", false, new Deaf(), SessionHolder.ANYONE))
                .isInstanceOfSatisfying(
                        RejectedException.class,
                        refused -> assertThat(refused.rejection().reason()).isEqualTo(Reason.LIMIT_EXCEEDED));
        Session back = engine.attach(new SessionId(1, 7), 2, "", false, new Deaf(), SessionHolder.ANYONE);

        List.copyOf(timed).forEach(Runnable::run);
        assertThat(engine.sessions("", 1_000).sessions())
                .as("an old stream's grace ends and its session goes on")
                .containsExactly(back.listed());
        engine.attach(new SessionId(3, 1), 1, "", false, new Deaf(), SessionHolder.ANYONE);
    }

    /** One client's mistake must not take the sessions of all. */
    @Test
    void sessionsOfAPrincipalAreLimitedUntilTheirGraceEnds() {
        SessionHolder web = new SessionHolder("web", 2);
        Session first = engine.attach(new SessionId(2, 1), 1, "", false, new Deaf(), web);
        Session kept = engine.attach(new SessionId(2, 2), 1, "", false, new Deaf(), web);
        assertThatThrownBy(() -> engine.attach(new SessionId(2, 3), 1, "", false, new Deaf(), web))
                .hasMessageContaining("web has 2 sessions, and may have no more")
                .isInstanceOfSatisfying(
                        RejectedException.class,
                        refused -> assertThat(refused.rejection().reason()).isEqualTo(Reason.LIMIT_EXCEEDED));
        var unused = engine.attach(new SessionId(3, 1), 1, "", false, new Deaf(), new SessionHolder("ops", 2));

        engine.detach(first, EndCause.CONNECTION_BROKE);
        Session next = engine.attach(new SessionId(2, 3), 1, "", false, new Deaf(), web);
        kept.waits(new Session.Waiting(new LockName("a"), 1), 1);
        engine.detach(kept, EndCause.CONNECTION_BROKE);
        assertThatThrownBy(() -> engine.attach(new SessionId(2, 4), 1, "", false, new Deaf(), web))
                .as("in grace with something to lose")
                .isInstanceOf(RejectedException.class);
        Session back = engine.attach(new SessionId(2, 2), 2, "", false, new Deaf(), web);
        engine.detach(back, EndCause.CONNECTION_BROKE);
        engine.detach(next, EndCause.CONNECTION_BROKE);
        List.copyOf(timed).forEach(Runnable::run);
        for (int i = 5; i <= 6; i++) {
            engine.attach(new SessionId(2, i), 1, "", false, new Deaf(), web);
        }
        assertThatThrownBy(() -> engine.attach(new SessionId(2, 7), 1, "", false, new Deaf(), web))
                .isInstanceOf(RejectedException.class);
    }

    /** An operator looks for the beginning and the end; the calls between them would bury both. */
    @Test
    void aStoreThatRefusesIsToldOnceAndOnceThatItIsOver() {
        store.busy = true;
        for (int i = 0; i < 3; i++) {
            leave();
        }
        assertThat(events).containsExactly("event=store_unavailable message=busy");
        lookAgain("refused since the last look");
        lookAgain("nobody has asked since");
        store.busy = false;
        leave();
        store.busy = true;
        leave();
        lookAgain("answered once and refused once");
        store.busy = false;
        leave();
        store.now += 4_000;
        timed.remove().run();
        assertThat(events)
                .containsExactly(
                        "event=store_unavailable message=busy",
                        "event=store_available refused=4 after_ms=4000 standby=false");
        assertThat(timed).as("nothing more to look at").isEmpty();

        store.busy = true;
        leave();
        assertThat(timed).as("the next one").hasSize(1);
    }

    /** The keep-alive after the outage finds the lease ended before the news of its end comes, or in its place. */
    @Test
    void leaseThatEndsInAnOutageOfTheStoreIsExplainedByIt() throws Exception {
        Session session = engine.attach(SESSION, 1, "a", false, new Deaf(), SessionHolder.ANYONE);
        LockName lock = new LockName("a");
        Grant grant = new Grant(
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "a", ""),
                new FencingToken(5),
                1,
                10_001);
        session.holds(grant, lock);
        store.busy = true;
        store.now = 5_000;
        assertThat(engine.keepAlive(session).toCompletableFuture()).isCompletedExceptionally();
        store.busy = false;
        store.now = 11_000;
        engine.frameArrived(session, 1);
        store.renewal = new Answer.Refused(
                new Rejection(Reason.LEASE_EXPIRED, "over", Map.of(Rejection.ENDED, End.EXPIRED.name())));
        assertThat(engine.keepAlive(session).toCompletableFuture().get()).hasSize(1);
        store.past = List.of(
                new HistoryEntry(1, HistoryEntry.What.GRANTED, 5, grant.id(), "a", ""),
                new HistoryEntry(10_001, HistoryEntry.What.EXPIRED, 5, grant.id(), "a", ""));

        assertThat(engine.explain(lock, 5).toCompletableFuture().get().events())
                .extracting(GrantExplanation.Event::what)
                .containsExactly("GRANTED", "STORE_OUTAGE", "EXPIRED", "LAST_FRAME");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void expiredLeaseIsLoggedWithItsClientAndCause(boolean inOutage) {
        Session session = engine.attach(SESSION, 1, "worker", false, new Deaf(), new SessionHolder("web", 9));
        session.holds(
                new Grant(
                        new Request(
                                new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "", ""),
                        new FencingToken(5),
                        1,
                        10_001),
                new LockName("a"));
        if (inOutage) {
            store.now = 6_000;
            store.busy = true;
            leave();
        }
        store.now = 10_001;
        Tombstone ended = new Tombstone(new RequestId(SESSION, 1), new GrantId(1, 1), 5, End.EXPIRED, 10_001, "");
        engine.changed(LockState.unused(new LockName("a"), 0), List.of(new LockEvent.Ended(ended, 0)), 10_001);
        assertThat(events)
                .last()
                .asString()
                .startsWith("event=lease_expired ")
                .endsWith(" owner=worker principal=web cause=" + (inOutage ? "STORE_OUTAGE" : "NOT_RENEWED")
                        + " silent_ms=10000");
    }

    /** After an outage the store gives each lease its full ttl again. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void leaseThatIsNotRenewedAfterAnOutageEndsByIt(boolean isRenewed) {
        Session session = engine.attach(SESSION, 1, "worker", false, new Deaf(), SessionHolder.ANYONE);
        Request request =
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "", "");
        session.holds(new Grant(request, new FencingToken(5), 1, 10_001), new LockName("a"));
        store.now = 6_000;
        store.busy = true;
        leave();
        if (isRenewed) {
            store.now = 7_000;
            engine.frameArrived(session, 1);
        }
        store.now = 17_003;
        Tombstone ended = new Tombstone(request.id(), request.grant(), 5, End.EXPIRED, 17_003, "");
        engine.changed(LockState.unused(new LockName("a"), 0), List.of(new LockEvent.Ended(ended, 0)), 17_003);
        assertThat(events).last().asString().contains(" cause=" + (isRenewed ? "NOT_RENEWED" : "STORE_OUTAGE") + " ");
    }

    @Test
    void whatAServerRefusesBecauseItStopsIsNoOutage() {
        engine.enterDrain();
        store.busy = true;
        leave();
        assertThat(events).isEmpty();
    }

    private void lookAgain(String because) {
        timed.remove().run();
        assertThat(events).as(because).hasSize(1);
        assertThat(timed).hasSize(1);
    }

    private void leave() {
        var unused = engine.execute(new Leave(new LockName("a"), new RequestId(SESSION, 1), 1));
    }

    @Test
    void everyForcedReleaseIsInTheLogAndOfOtherEndsSoManyASecond() {
        for (End end : List.of(End.EXPIRED, End.FORCE_RELEASED, End.RELEASED)) {
            for (int i = 1; i <= 3; i++) {
                Tombstone ended = new Tombstone(
                        new RequestId(SESSION, i),
                        new GrantId(0, i),
                        30 + i,
                        end,
                        1,
                        end == End.FORCE_RELEASED ? "by ops: stuck" : "");
                engine.changed(LockState.unused(new LockName("a"), 0), List.of(new LockEvent.Ended(ended, 0)), 1);
            }
        }
        String of = " session=" + SESSION.shortened() + " detail=";
        assertThat(events)
                .hasSize(4)
                .startsWith("event=lease_expired lock=a token=31 grant=" + new GrantId(0, 1) + of + "\"\"")
                .endsWith("event=lease_force_released lock=a token=33 grant=" + new GrantId(0, 3) + of
                        + "\"by ops: stuck\"");
    }

    /** The news of an end may come after the same request was sent again by another call, which must not be told something else. */
    @Test
    void whoAsksAgainWhileAnEndIsToldHearsOfThatEnd() {
        long requests = 0;
        for (End end : End.values()) {
            RequestId request = new RequestId(SESSION, ++requests);
            LockName lock = new LockName("a");
            store.acquired = new CompletableFuture<>();
            CompletableFuture<Answer> again = engine.acquireUnary(
                    new LockEngine.AcquireParams(lock, request, Mode.EXCLUSIVE, 10_000, 60_000, 0, 0, 0, "", "", 1),
                    LockQuota.NONE,
                    Optional::empty);
            Tombstone ended = new Tombstone(request, new GrantId(1, 1), 5, end, 1, "");
            engine.changed(LockState.unused(lock, 0), List.of(new LockEvent.Ended(ended, 0)), 1);

            switch (end) {
                case BUSY -> assertThat(again).as("says who holds the lock").isNotDone();
                case LEFT, TIMED_OUT, DROPPED -> assertThat(again).isCompletedWithValue(new Answer.WaitEnded(end));
                case RELEASED, EXPIRED, ABANDONED, FORCE_RELEASED ->
                    assertThat(again)
                            .isCompletedWithValueMatching(answer -> answer instanceof Answer.Refused refused
                                    && refused.rejection().reason() == Reason.LEASE_EXPIRED);
            }
        }
    }

    /** A newer stream of the session has it, at another server of the same Redis. */
    @Test
    void aLeaseThatMovedToAnotherServerIsOffTheCountAfterTheGrace() {
        LockName lock = new LockName("a");
        Grant grant = new Grant(
                new Request(new RequestId(SESSION, 1), 1, new GrantId(1, 1), Mode.EXCLUSIVE, 10_000, 0, 0, "", ""),
                new FencingToken(5),
                1,
                10_001);
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), new SessionHolder("web", 10));
        session.holds(grant, lock);
        engine.counted("web", lock, grant);
        engine.detach(session, EndCause.CONNECTION_BROKE);
        assertThat(engine.locksOf("web")).isEqualTo(1);
        store.abandoned = new Answer.Abandoned(false);
        timed.forEach(Runnable::run);
        assertThat(store.taken).last().isInstanceOf(Abandon.class);
        assertThat(engine.locksOf("web")).isZero();
    }

    private void depose() {
        StoreFailure why = StoreFailure.notActive("lock server b:1 is active", "b:1", false);
        store.standby = Optional.of(why);
        engine.deposed(why);
    }

    private static LockEngine.AcquireParams asked(int number) {
        return new LockEngine.AcquireParams(
                new LockName("a"), new RequestId(SESSION, number), Mode.EXCLUSIVE, 10_000, 60_000, 0, 0, 0, "", "", 1);
    }

    @Test
    void aDeposedServerEndsItsStreamsAndFreesNothing() {
        Deaf peer = new Deaf();
        Session session = engine.attach(SESSION, 1, "", false, peer, new SessionHolder("web", 10));
        var unused = engine.acquire(session, asked(1), new LockQuota("web", 10, 10));
        assertThat(engine.locksOf("web")).isEqualTo(1);
        depose();
        assertThat(peer.deposed).extracting(Rejection::reason).containsExactly(Reason.NOT_ACTIVE);
        assertThat(peer.deposed.get(0).metadata()).containsEntry(Rejection.ACTIVE, "b:1");
        engine.detach(session, EndCause.CONNECTION_BROKE);
        timed.forEach(Runnable::run);
        assertThat(store.taken).noneMatch(command -> command instanceof Leave || command instanceof Abandon);
        assertThat(engine.sessionTotals()).isEqualTo(new SessionTotals(0, 0, 0, 0));
        assertThat(engine.locksOf("web")).isZero();
    }

    @Test
    void whatWasToBeFreedWhenAServerWasDeposedIsDiscarded() {
        Session session = engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE);
        var unused = engine.acquire(session, asked(1), LockQuota.NONE);
        engine.detach(session, EndCause.CONNECTION_BROKE);
        store.busy = true;
        timed.remove().run(); // The grace is over; the store takes no Leave.
        depose();
        store.busy = false;
        store.standby = Optional.empty(); // Active again, with what the log has.
        timed.forEach(Runnable::run);
        assertThat(store.taken).noneMatch(command -> command instanceof Leave);
    }

    @Test
    void aStandbyTakesNoSession() {
        depose();
        assertThatThrownBy(() -> engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE))
                .isInstanceOfSatisfying(RejectedException.class, refused -> {
                    assertThat(refused.rejection().reason()).isEqualTo(Reason.NOT_ACTIVE);
                    assertThat(refused.rejection().metadata()).containsEntry(Rejection.ACTIVE, "b:1");
                });
    }

    @Test
    void aStandbySpreadsTheRetriesOfClientsThatComeAtOnce() {
        depose();
        List<String> pauses = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> engine.attach(SESSION, 1, "", false, new Deaf(), SessionHolder.ANYONE))
                    .isInstanceOfSatisfying(
                            RejectedException.class,
                            refused -> pauses.add(
                                    refused.rejection().metadata().getOrDefault(Rejection.RETRY_AFTER_MILLIS, "none")));
        }
        assertThat(pauses).containsExactly("none", "1", "2");
    }

    @Test
    void aCallThatWaitsAtADeposedServerIsToAskTheActiveOne() {
        CompletableFuture<Answer> call = engine.acquireUnary(asked(1), LockQuota.NONE, Optional::empty);
        depose();
        assertThat(call.getNow(null)).isInstanceOfSatisfying(Answer.Refused.class, refused -> {
            assertThat(refused.rejection().reason()).isEqualTo(Reason.NOT_ACTIVE);
            assertThat(refused.rejection().metadata()).containsEntry(Rejection.APPLIED, "unknown");
        });
    }

    /** A store may report that the request has left before its reply is there. */
    @Test
    void aCallThatIsDeniedWhileItWaitsIsNotAnsweredByItsLeaving() {
        List<Rejection> denied = new ArrayList<>();
        CompletableFuture<Answer> call = engine.acquireUnary(
                asked(1), LockQuota.NONE, () -> denied.stream().findFirst());
        LockName lock = new LockName("a");
        Tombstone left = new Tombstone(new RequestId(SESSION, 1), new GrantId(1, 1), 0, End.LEFT, 1, "");
        store.onLeave = () -> engine.changed(LockState.unused(lock, 0), List.of(new LockEvent.Ended(left, 0)), 1);
        denied.add(new Rejection(Reason.PERMISSION_DENIED, "the policy changed"));
        engine.accessChanged();
        assertThat(call).isCompletedWithValue(new Answer.Refused(denied.get(0)));
        assertThat(store.taken).hasAtLeastOneElementOfType(Leave.class);
    }

    private static final class BusyStore implements LockStore {
        final List<Command> taken = new ArrayList<>();
        boolean busy;
        Runnable onLeave = () -> {};
        Optional<StoreFailure> standby = Optional.empty();
        Answer left = new Answer.Left(true);
        Answer abandoned = new Answer.Abandoned(true);
        /** Leaves that have no reply yet; null: each gets its reply at once. */
        @Nullable
        Deque<CompletableFuture<Answer>> turn;

        long now = 1;
        List<HistoryEntry> past = List.of();
        Answer renewal = new Answer.Expired();
        CompletableFuture<Answer> acquired = CompletableFuture.completedFuture(new Answer.Queued(1));

        @Override
        public CompletionStage<Answer> execute(Command command) {
            if (busy) {
                return CompletableFuture.failedFuture(StoreFailure.unavailable("busy"));
            }
            taken.add(command);
            if (command instanceof Leave) {
                onLeave.run();
            }
            if (command instanceof Renew) {
                return CompletableFuture.completedFuture(renewal);
            }
            if (command instanceof Abandon) {
                return CompletableFuture.completedFuture(abandoned);
            }
            if (command instanceof Describe) {
                return CompletableFuture.completedFuture(
                        new Answer.Described(LockState.unused(command.lock(), 0), now));
            }
            if (command instanceof Leave && turn != null) {
                CompletableFuture<Answer> later = new CompletableFuture<>();
                turn.add(later);
                return later;
            }
            return command instanceof Leave ? CompletableFuture.completedFuture(left) : acquired;
        }

        /** Completes what was sent before it. */
        void endTurn() {
            List<CompletableFuture<Answer>> asked = List.copyOf(Objects.requireNonNull(turn));
            Objects.requireNonNull(turn).clear();
            asked.forEach(each -> each.complete(left));
        }

        @Override
        public CompletionStage<List<HistoryEntry>> history(LockName lock) {
            return busy
                    ? CompletableFuture.failedFuture(StoreFailure.unavailable("busy"))
                    : CompletableFuture.completedFuture(past);
        }

        @Override
        public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
            return CompletableFuture.failedFuture(StoreFailure.unavailable("busy"));
        }

        @Override
        public Optional<StoreFailure> standby() {
            return standby;
        }

        @Override
        public long nowMillis() {
            return now;
        }

        @Override
        public boolean isRecovering() {
            return false;
        }

        @Override
        public StoreStatus status() {
            return new StoreStatus("test", "nowhere", !busy, 0, "", Optional.empty());
        }

        @Override
        public void listen(Listener listener) {}

        @Override
        public void close() {}
    }
}
