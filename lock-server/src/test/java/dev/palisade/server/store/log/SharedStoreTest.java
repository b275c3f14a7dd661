package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static dev.palisade.server.store.log.SharedServers.failure;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Waiter;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.log.MemoryLogServer.Fault;
import dev.palisade.server.store.log.MemoryLogServer.Image;
import dev.palisade.server.store.log.SharedServers.Server;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two lock servers over one log: the interleavings that broke an earlier design, by their numbers there. */
class SharedStoreTest {
    private static final Duration TRY = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final SharedServers servers = new SharedServers();
    private Server a;
    private Server b;

    @BeforeEach
    void aIsActive() {
        a = servers.server("a:7400");
        b = servers.server("b:7400");
        a.store.takeTurn();
        assertThat(a.isActive()).isTrue();
    }

    private static Grant granted(Server server, String lock, long session, long request) {
        Answer answer = server.answer(acquire(lock, session, request, TRY));
        assertThat(answer).isInstanceOf(Answer.Granted.class);
        return ((Answer.Granted) answer).grant();
    }

    private static Renew renew(String lock, Grant held) {
        return new Renew(
                name(lock), held.id(), held.token(), held.request().id().session());
    }

    private static Reason refusal(Answer answer) {
        return ((Answer.Refused) answer).rejection().reason();
    }

    private void takesOver(Server next) {
        next.live(2_500);
        assertThat(next.isActive()).isTrue();
    }

    /** Without having read ahead. */
    private void takesOverUnprepared(Server next) {
        servers.pass(2_500);
        next.store.takeTurn();
    }

    @Test
    void aStandbyRefusesAndNamesTheActiveServer() {
        b.store.takeTurn();
        assertThat(b.isActive()).isFalse();
        assertThat(failure(b.send(acquire("l", 1, 1, TRY))))
                .get()
                .satisfies(failure -> assertThat(failure.isOutcomeUnknown()).isFalse())
                .extracting(StoreFailure::getMessage)
                .asString()
                .contains("a:7400 is active");
        assertThat(b.store.standby().map(StoreFailure::activeAddress)).contains("a:7400");
        assertThat(a.store.standby()).isEmpty();
    }

    @Test
    void aStandbyReadsAheadAtEachClaim() {
        for (int i = 0; i < 20; i++) {
            granted(a, "l" + i, 1, i + 1);
        }
        b.store.takeTurn();
        assertThat(b.client.looks()).as("eight batches each time").isEqualTo(3);
        b.live(50);
        assertThat(b.client.looks()).isEqualTo(3);
        b.live(50);
        assertThat(b.client.looks()).as("nothing is new").isEqualTo(4);
        assertThat(a.client.looks()).as("the active server").isZero();
        takesOver(b);
        int before = b.client.looks();
        b.live(1_000);
        assertThat(b.client.looks()).isEqualTo(before);
    }

    /** The active server renews its claim each 400 ms. */
    @Test
    void aStandbyKnowsThatItMaySoonTakeOver() {
        b.live(100);
        for (int i = 0; i < 20; i++) {
            a.live(100);
            b.live(100);
            assertThat(b.takesOver()).isFalse();
        }
        b.live(1_000);
        assertThat(b.takesOver()).isTrue();
        assertThat(b.isActive()).isFalse();
        assertThat(b.takeoversEnded).isZero();
        takesOver(b);
        assertThat(b.takesOver()).isFalse();
        assertThat(b.takeoversEnded).isEqualTo(1);
        assertThat(a.takeoversEnded).isLessThanOrEqualTo(1);
    }

    @Test
    void anActiveServerThatIsHeardAgainEndsTheWait() {
        b.live(1_000);
        assertThat(b.takesOver()).isTrue();
        a.store.takeTurn();
        b.live(100);
        assertThat(b.takesOver()).isFalse();
        assertThat(b.takeoversEnded).isEqualTo(1);
    }

    /** Sessions that were let in would be for nothing: the memory may be another's. */
    @Test
    void aStandbyWhoseTakeoverFailsIsAStandbyStill() {
        servers.log.losesAppends(2);
        takesOverOrSettles(b);
        assertThat(b.takeoversEnded).as("takeovers, the first of which failed").isGreaterThan(1);
        assertThat(b.sessionsForNothing).isZero();
    }

    /** It would end the streams of all of them. */
    @Test
    void aServerThatReadsItsOwnLogAgainIsNoStandbyForItsSessions() {
        int before = a.takeoversEnded;
        servers.log.full(true);
        a.live(3_000);
        assertThat(refusal(a.answer(acquire("l", 1, 1, TRY)))).isEqualTo(Reason.STORE_UNAVAILABLE);
        servers.log.full(false);
        a.live(2_000);
        assertThat(a.answer(acquire("l", 1, 2, TRY))).isInstanceOf(Answer.Granted.class);
        assertThat(a.takeoversEnded).isEqualTo(before);
        assertThat(a.deposed).isEmpty();
    }

    @Test
    void aStandbyThatHasNoLogDoesNotTakeOver() {
        b.live(1_000);
        assertThat(b.takesOver()).isTrue();
        b.client.cut(true);
        b.live(100);
        assertThat(b.takesOver()).isFalse();
        assertThat(b.takeoversEnded).isEqualTo(1);
    }

    @Test
    void aDeposedServerReportsItOnce() {
        Grant held = granted(a, "l", 1, 1);
        takesOver(b);
        var unused = a.ask(renew("l", held));
        a.live(1_000);
        assertThat(a.deposed).extracting(StoreFailure::activeAddress).containsExactly("b:7400");
        assertThat(b.deposed).isEmpty();
    }

    @Test
    void everyBatchOfASharedLogAppends() {
        int before = servers.log.appends();
        a.answer(new Describe(name("l")));
        Grant held = granted(a, "l", 1, 1);
        a.answer(renew("l", held));
        assertThat(a.answer(acquire("l", 2, 1, TRY))).isInstanceOf(Answer.Busy.class);
        assertThat(servers.log.appends() - before).isEqualTo(4);
    }

    /** A batch of all of them takes a log longer than a claim lasts. */
    @Test
    void leasesThatEndAtOnceEndInSeveralBatches() {
        for (int i = 0; i < 5_000; i++) {
            var unused = a.send(acquire("l" + i, 1, i + 1, TRY));
        }
        while (a.told.size() < 5_000) {
            a.store.takeTurn();
        }
        a.live(9_950);
        a.told.clear();
        servers.pass(100);
        List<Integer> ended = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            a.store.takeTurn();
            ended.add(a.told.size());
        }
        assertThat(a.told).allMatch(event -> event instanceof LockEvent.Ended);
        assertThat(ended).containsExactly(2_000, 4_000, 5_000, 5_000);
    }

    @Test
    void manyHoldersOfOneLockCountEach() {
        for (int i = 0; i < 4_500; i++) {
            var unused = a.send(acquire("l" + i / 1_500, i + 1, 1, TRY, Mode.SHARED, Duration.ZERO, Duration.ZERO));
        }
        while (a.told.size() < 4_500) {
            a.store.takeTurn();
        }
        a.live(9_950);
        a.told.clear();
        servers.pass(100);
        a.store.takeTurn();
        assertThat(a.told).hasSize(3_000);
        a.store.takeTurn();
        assertThat(a.told).hasSize(4_500);
    }

    @Test
    void offersAfterTheRecoveryWindowAreMadeInSeveralBatches() {
        servers.log.flush();
        a.live(4_000);
        for (int i = 0; i < 5_000; i++) {
            var unused = a.send(acquire("l" + i, 1, i + 1, MINUTE));
        }
        while (a.told.size() < 5_000) {
            a.store.takeTurn();
        }
        a.told.clear();
        List<Integer> offered = new ArrayList<>();
        for (int millis = 0; offered.size() < 4 && millis < 20_000; millis += 100) {
            servers.pass(100);
            a.store.takeTurn();
            if (!a.told.isEmpty()) {
                offered.add(a.told.size());
            }
        }
        assertThat(offered).containsExactly(2_000, 4_000, 5_000, 5_000);
    }

    @Test
    void anIdleOwnerKeepsItsClaim() {
        b.store.takeTurn();
        for (int i = 0; i < 100; i++) {
            servers.pass(50);
            a.store.takeTurn();
            b.store.takeTurn();
        }
        assertThat(a.isActive()).isTrue();
        assertThat(b.isActive()).isFalse();
    }

    @Test
    void takeoverKeepsLeasesQueueAndTokenOrder() {
        Grant held = granted(a, "l", 1, 1);
        a.answer(acquire("l", 2, 1, MINUTE));
        a.answer(acquire("l", 3, 1, MINUTE));
        takesOver(b);
        Answer.Described seen = (Answer.Described) b.answer(new Describe(name("l")));
        assertThat(seen.state().holders().get(0).id()).isEqualTo(held.id());
        assertThat(seen.state().holders().get(0).expiresAtMillis()).isGreaterThanOrEqualTo(b.store.nowMillis() + 9_000);
        assertThat(seen.state().waiters())
                .extracting(waiter -> waiter.request().id().session().low())
                .containsExactly(2L, 3L);
        b.answer(release(name("l"), held));
        Answer.Described next = (Answer.Described) b.answer(new Describe(name("l")));
        assertThat(next.state().offers().get(0).token().value())
                .isGreaterThan(held.token().value() + FencingToken.PER_GRANT - 1);
    }

    @Test
    void nothingIsLostWhileRecordsAreWrittenAnew() throws Exception {
        List<LockState> before = new ArrayList<>();
        Map<String, List<HistoryEntry>> forced = new TreeMap<>();
        for (int i = 0; i < 100; i++) {
            othersComeAndGo(i);
            Grant held = granted(a, "held/" + i, i, 1);
            a.answer(acquire("held/" + i, 1_000, i + 1, MINUTE));
            a.answer(acquire("held/" + i, 1_001, i + 1, MINUTE));
            if (i % 4 == 1) {
                a.answer(release(name("held/" + i), held));
            } else if (i % 4 == 2) {
                a.answer(new ForceRelease(name("held/" + i), 0, "ops", "why " + i));
            }
        }
        oldRecordsAreWrittenAnew(100);
        for (int i = 0; i < 100; i++) {
            before.add(((Answer.Described) a.answer(new Describe(name("held/" + i)))).state());
            forced.put("held/" + i, forced(a, "held/" + i));
        }
        takesOver(b);
        for (int i = 0; i < 100; i++) {
            LockState after = ((Answer.Described) b.answer(new Describe(name("held/" + i)))).state();
            assertThat(after.holders()).extracting(Grant::id).isEqualTo(ids(before.get(i)));
            assertThat(after.waiters())
                    .extracting(Waiter::request)
                    .isEqualTo(before.get(i).waiters().stream()
                            .map(Waiter::request)
                            .toList());
            assertThat(after.offers())
                    .extracting(Offer::token)
                    .isEqualTo(before.get(i).offers().stream().map(Offer::token).toList());
            assertThat(forced(b, "held/" + i)).isEqualTo(forced.get("held/" + i));
        }
    }

    private void oldRecordsAreWrittenAnew(int firstTime) {
        long newest = servers.log.records().lastKey();
        for (int i = firstTime; servers.log.records().firstKey() <= newest && i < firstTime + 200; i++) {
            othersComeAndGo(i);
        }
        assertThat(servers.log.records().firstKey()).as("all is young").isGreaterThan(newest);
    }

    /** Some hundred times as many make the log so large that it does that. */
    private void othersComeAndGo(int time) {
        List<CompletableFuture<Answer>> granted = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            granted.add(a.send(acquire("other/" + "x".repeat(240) + i, 2_000, time * 1_000L + i + 1, TRY)));
        }
        a.store.takeTurn();
        for (int i = 0; i < granted.size(); i++) {
            Grant grant = ((Answer.Granted) granted.get(i).join()).grant();
            var unused = a.send(release(name("other/" + "x".repeat(240) + i), grant));
        }
        a.store.takeTurn();
    }

    private static List<GrantId> ids(LockState state) {
        return state.holders().stream().map(Grant::id).toList();
    }

    private static List<HistoryEntry> forced(Server server, String lock) throws Exception {
        CompletableFuture<List<HistoryEntry>> told =
                server.store.history(name(lock)).toCompletableFuture();
        server.store.takeTurn();
        return told.get(1, TimeUnit.SECONDS).stream()
                .filter(entry -> entry.what() == HistoryEntry.What.FORCE_RELEASED)
                .map(HistoryEntry::afterGap)
                .toList();
    }

    @Test
    void forcedReleasesKeepTheirOrderWhenSomeAreWrittenAnew() throws Exception {
        for (int i = 0; i < 60; i++) { // More than are written anew in one batch.
            granted(a, "l", i, 1);
            a.answer(new ForceRelease(name("l"), 0, "ops", "why " + i));
            servers.pass(1);
        }
        List<HistoryEntry> before = forced(a, "l");
        oldRecordsAreWrittenAnew(0);
        takesOver(b);
        assertThat(before).hasSizeGreaterThan(1);
        assertThat(forced(b, "l")).endsWith(before.toArray(HistoryEntry[]::new));
    }

    /** Found by incidents: each server had an hour of its own from a clock that was wrong, and its epochs began there. */
    @Test
    void anEpochBeginsByTheClockOfTheLogAndNotByOneThatWasWrongBefore() {
        granted(a, "l", 1, 1);
        servers.logMillis.addAndGet(3_600_000);
        servers.log.reloadLibrary();
        a.live(1_500);
        granted(a, "m", 1, 2);
        servers.logMillis.addAndGet(-3_600_000);
        Image image = servers.log.image();
        servers.log.promote(image);
        a.live(3_000);
        assertThat(a.isActive()).isTrue();
        a.live(11_000); // The recovery window.
        Grant ofA = granted(a, "n", 2, 1);
        servers.log.promote(image); // The former primary, without what was granted meanwhile.
        a.client.cut(true);
        b.live(6_000);
        assertThat(b.isActive()).isTrue();
        b.live(11_000);
        assertThat(granted(b, "n", 3, 1).token().value())
                .isGreaterThan(ofA.token().value());
    }

    /** Found by incidents: a standby kept the start of an epoch in memory that began an hour ahead, and in which it issued nothing. */
    @Test
    void anEpochThatIssuedNoTokenIsForgotten() {
        granted(a, "l", 1, 1);
        servers.logMillis.addAndGet(3_600_000);
        servers.log.reloadLibrary();
        b.client.whileLoading(
                () -> { // The claim of a has ended by that clock, and a takes the log back.
                    b.client.whileLoading(() -> {});
                    var unused = a.ask(acquire("m", 1, 2, TRY));
                    a.live(50);
                });
        b.store.takeTurn();
        assertThat(b.isActive()).isFalse();
        assertThat(a.isActive()).isTrue();
        servers.logMillis.addAndGet(-3_600_000);
        Image image = servers.log.image();
        servers.log.promote(image);
        a.client.cut(true);
        b.live(6_000);
        assertThat(b.isActive()).isTrue();
        b.live(11_000); // The recovery window.
        Grant ofB = granted(b, "n", 2, 1);
        servers.log.promote(image);
        b.client.cut(true);
        a.client.cut(false);
        a.live(6_000);
        assertThat(a.isActive()).isTrue();
        a.live(11_000);
        assertThat(granted(a, "n", 3, 1).token().value())
                .isGreaterThan(ofB.token().value());
    }

    @Test
    void aServerThatComesBackIssuesTokensAboveItsOwn() {
        servers.logMillis.addAndGet(3_600_000);
        Image image = servers.log.image();
        servers.log.promote(image);
        a.live(14_000);
        Grant ahead = granted(a, "l", 1, 1);
        servers.logMillis.addAndGet(-3_600_000);
        servers.log.promote(image);
        a.live(14_000);
        assertThat(a.isActive()).isTrue();
        assertThat(granted(a, "m", 2, 1).token().value())
                .isGreaterThan(ahead.token().value());
    }

    @Test
    void aStoppedServerYieldsAtOnce() {
        Grant held = granted(a, "l", 1, 1);
        a.store.close();
        b.store.takeTurn();
        assertThat(b.isActive()).isTrue();
        assertThat(b.answer(release(name("l"), held))).isInstanceOf(Answer.Released.class);
    }

    /** 2.1 */
    @Test
    void keepAlivesOfAFormerOwnerAreNotAnswered() {
        Grant held = granted(a, "l", 1, 1);
        a.client.cut(true);
        takesOver(b);
        CompletableFuture<Answer> kept = a.ask(renew("l", held));
        assertThat(kept.isDone()).isFalse();
        assertThat(a.isActive()).isFalse();
        assertThat(failure(a.send(renew("l", held)))).as("the next call").isPresent();
    }

    /** 2.2, 2.3 */
    @Test
    void aFormerOwnerNeverWritesItsMemoryOverTheNextOwnersHistory() {
        granted(a, "l", 1, 1);
        a.client.cut(true);
        takesOver(b);
        servers.pass(11_000); // B pauses; its claim is over.
        a.client.cut(false);
        Image before = servers.log.image();
        CompletableFuture<Answer> asked = a.ask(acquire("m", 9, 1, TRY));
        for (int i = 0; i < 5; i++) {
            servers.pass(250);
            a.store.takeTurn();
        }
        assertThat(failure(asked))
                .get()
                .extracting(StoreFailure::isOutcomeUnknown)
                .isEqualTo(true);
        assertThat(locks(servers.log.records())).containsAll(locks(before.records()));
        // A takes over from B's history, like any other server.
        assertThat(servers.log.state().position()).isNotEqualTo(before.state().position());
    }

    /** Ids of the records that are not epochs: each owner begins an epoch of its own. */
    private static List<Long> locks(NavigableMap<Long, NavigableMap<Integer, byte[]>> records) {
        return records.entrySet().stream()
                .filter(record ->
                        !Asking.isEpoch(Objects.requireNonNull(record.getValue().get(0))))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** 2.4 */
    @Test
    void aRollbackThatRevivesASupersededOwnerOpensARecoveryWindow() {
        granted(a, "l", 1, 1);
        Image lagging = servers.log.image();
        a.client.cut(true);
        takesOver(b);
        Grant newer = granted(b, "m", 2, 1);
        servers.log.promote(lagging);
        a.client.cut(false);
        var unused = a.ask(acquire("m", 3, 1, TRY));
        a.live(4_000);
        assertThat(a.isActive()).isTrue();
        assertThat(refusal(a.answer(acquire("m", 3, 2, TRY)))).isEqualTo(Reason.RECOVERING);
        Answer reclaimed = a.answer(new Reclaim(name("m"), newer.request(), newer.token()));
        assertThat(reclaimed).isInstanceOf(Answer.Resumed.class);
        a.live(11_000);
        assertThat(granted(a, "n", 3, 3).token().value())
                .isGreaterThan(newer.token().value());
    }

    /** 2.4 b: the newest owner comes first. */
    @Test
    void whileALogSettlesTheHighestTermComesFirst() {
        granted(a, "l", 1, 1);
        Image lagging = servers.log.image();
        a.client.cut(true);
        takesOver(b);
        granted(b, "m", 2, 1);
        servers.log.promote(lagging);
        a.client.cut(false);
        for (int i = 0; i < 80; i++) {
            servers.pass(50);
            a.store.takeTurn();
            b.store.takeTurn();
        }
        assertThat(b.isActive()).isTrue();
        assertThat(a.isActive()).isFalse();
    }

    /** 2.5 */
    @Test
    void anEmptiedLogThatSawANewerOwnerIsNotTheOldersOwn() {
        granted(a, "l", 1, 1);
        a.client.cut(true);
        takesOver(b);
        granted(b, "m", 2, 1);
        servers.log.flush();
        a.client.cut(false);
        a.live(4_000);
        assertThat(a.isActive()).isTrue();
        assertThat(refusal(a.answer(acquire("m", 3, 1, TRY)))).isEqualTo(Reason.RECOVERING);
    }

    /** 2.6 */
    @Test
    void aLateBatchOfAnEarlierClaimIsNeverStored() {
        servers.log.next(Fault.DELAYED);
        CompletableFuture<Answer> first = a.ask(acquire("l", 1, 1, TRY));
        assertThat(first.isDone()).isFalse();
        a.live(50);
        assertThat(first.getNow(null)).as("the same batch again").isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.deliverDelayed()).containsExactly(false);
    }

    /** 2.6 */
    @Test
    void anUnansweredBatchThatWasStoredIsNotSentAgain() {
        servers.log.next(Fault.UNANSWERED);
        int before = servers.log.appends();
        CompletableFuture<Answer> asked = a.ask(acquire("l", 1, 1, TRY));
        assertThat(asked.isDone()).isFalse();
        a.live(50);
        assertThat(asked.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(servers.log.appends() - before).isEqualTo(1);
    }

    @Test
    void aLostBatchIsSentAgainAndItsEventsAreToldOnce() {
        servers.log.next(Fault.LOST, Fault.LOST);
        CompletableFuture<Answer> asked = a.ask(acquire("l", 1, 1, TRY));
        assertThat(a.told).isEmpty();
        a.live(300);
        assertThat(asked.getNow(null)).isInstanceOf(Answer.Granted.class);
        assertThat(a.told).hasSize(1).allMatch(event -> event instanceof LockEvent.Granted);
    }

    @Test
    void callersHearOfAnUnknownOutcomeAfterTheStoreTimeout() {
        a.client.cut(true);
        CompletableFuture<Answer> asked = a.ask(acquire("l", 1, 1, TRY));
        a.live(1_900);
        assertThat(asked.isDone()).isFalse();
        assertThat(failure(a.send(acquire("l", 1, 2, TRY))))
                .get()
                .extracting(StoreFailure::isOutcomeUnknown)
                .isEqualTo(false);
        a.live(200);
        assertThat(failure(asked))
                .get()
                .extracting(StoreFailure::isOutcomeUnknown)
                .isEqualTo(true);
        a.client.cut(false);
        a.live(300);
        assertThat(a.answer(acquire("l", 1, 1, TRY))).as("the batch was stored").isInstanceOf(Answer.Granted.class);
        assertThat(a.answer(acquire("l", 2, 1, TRY))).isInstanceOf(Answer.Busy.class);
    }

    /** Rule 5: after any length of outage the former owner goes on. */
    @Test
    void anOutageOfAMinuteLosesNothing() {
        Grant held = granted(a, "l", 1, 1);
        a.client.cut(true);
        a.live(60_000);
        a.client.cut(false);
        a.live(300);
        assertThat(a.isActive()).isTrue();
        assertThat(a.answer(renew("l", held))).as("a full lease").isInstanceOf(Answer.Renewed.class);
    }

    /** 2.7 */
    @Test
    void whileTheLogIsFullLocksAreFreedAndNoneIsGranted() {
        Grant held = granted(a, "l", 1, 1);
        servers.log.full(true);
        CompletableFuture<Answer> refused = a.ask(acquire("m", 1, 2, TRY));
        a.live(3_000);
        assertThat(failure(refused)).isPresent();
        assertThat(a.store.standby()).isEmpty();
        assertThat(refusal(a.answer(acquire("m", 1, 3, TRY)))).isEqualTo(Reason.STORE_UNAVAILABLE);
        assertThat(a.answer(release(name("l"), held))).isInstanceOf(Answer.Released.class);
        servers.log.full(false);
        a.live(500);
        assertThat(a.answer(acquire("m", 1, 4, TRY))).isInstanceOf(Answer.Granted.class);
    }

    /** 2.10 */
    @Test
    void aPausedOwnersReplyIsOfABatchThatWasStored() {
        Grant held = granted(a, "l", 1, 1);
        takesOver(b);
        Answer.Described seen = (Answer.Described) b.answer(new Describe(name("l")));
        assertThat(seen.state().holders()).extracting(Grant::id).containsExactly(held.id());
        CompletableFuture<Answer> late = a.ask(new Describe(name("l")));
        assertThat(late.isDone()).isFalse();
    }

    /** 2.11 */
    @Test
    void aClockThatIsSetBackDelaysATakeoverByTwoSecondsAtMost() {
        granted(a, "l", 1, 1);
        servers.logMillis.addAndGet(-3_600_000);
        b.live(2_500);
        assertThat(b.isActive()).isTrue();
        assertThat(b.store.nowMillis()).as("never back").isGreaterThanOrEqualTo(Asking.START);
    }

    /** 2.11 */
    @Test
    void aClockThatIsSetForwardDeposesAnOwnerSafely() {
        granted(a, "l", 1, 1);
        servers.logMillis.addAndGet(3_600_000);
        b.store.takeTurn();
        assertThat(b.isActive()).isTrue();
        assertThat(a.ask(acquire("m", 1, 2, TRY)).isDone()).isFalse();
    }

    /** 2.12 */
    @Test
    void aRollbackToAnOwnersOwnPositionIsNoticedByTheProcess() {
        granted(a, "l", 1, 1);
        Image old = servers.log.image();
        takesOver(b);
        granted(b, "m", 2, 1);
        servers.log.restore(old);
        assertThat(a.ask(acquire("m", 3, 1, TRY)).isDone()).isFalse();
        a.live(4_000);
        assertThat(refusal(a.answer(acquire("m", 3, 2, TRY)))).isEqualTo(Reason.RECOVERING);
    }

    /** 2.12 */
    @Test
    void afterAReloadOfTheLibraryTheOwnerGoesOnAtOnce() {
        Grant held = granted(a, "l", 1, 1);
        servers.log.reloadLibrary();
        CompletableFuture<Answer> asked = a.ask(renew("l", held));
        a.live(50);
        assertThat(asked.getNow(null)).isInstanceOf(Answer.Renewed.class);
        assertThat(a.answer(acquire("m", 1, 2, TRY))).as("no window").isInstanceOf(Answer.Granted.class);
    }

    /** 2.15 */
    @Test
    void aDeposedServerFreesNothing() {
        granted(a, "l", 1, 1);
        takesOver(b);
        var unused = a.ask(new Describe(name("l")));
        a.live(50);
        assertThat(failure(a.send(release(name("l"), granted(b, "m", 1, 2))))).isPresent();
    }

    /** 2.16 */
    @Test
    void leasesHaveTheirFullLengthFromTheEndOfLoading() {
        Grant held = granted(a, "l", 1, 1);
        b.client.whileLoading(() -> servers.pass(1_500));
        takesOverUnprepared(b);
        Answer.Described seen = (Answer.Described) b.answer(new Describe(name("l")));
        assertThat(seen.state().holders().get(0).id()).isEqualTo(held.id());
        assertThat(seen.state().holders().get(0).expiresAtMillis() - b.store.nowMillis())
                .isGreaterThanOrEqualTo(9_400);
    }

    /** 2.17 */
    @Test
    void whatWasReadAcrossAFailoverIsNotServed() {
        granted(a, "l", 1, 1);
        Image lagging = servers.log.image();
        granted(a, "m", 1, 2);
        b.client.whileLoading(() -> {
            servers.log.promote(lagging);
            b.client.whileLoading(() -> {});
        });
        takesOverUnprepared(b);
        takesOverOrSettles(b);
        assertThat(refusal(b.answer(acquire("m", 3, 1, TRY))))
                .as("it knows that it may lack the lease of m")
                .isEqualTo(Reason.RECOVERING);
    }

    private void takesOverOrSettles(Server next) {
        next.live(6_000);
        assertThat(next.isActive()).isTrue();
    }

    /** 2.20 */
    @Test
    void aReclaimedTokenLiftsTheCount() {
        servers.log.flush();
        a.live(4_000);
        long far = tokenInOneHour();
        Answer reclaimed =
                a.answer(new Reclaim(name("l"), acquire("l", 1, 1, TRY).request(), new FencingToken(far)));
        assertThat(reclaimed).isInstanceOf(Answer.Resumed.class);
        a.live(11_000);
        assertThat(granted(a, "m", 2, 1).token().value()).isGreaterThan(far);
    }

    private long tokenInOneHour() {
        return ((servers.logMillis.get() - 1_704_067_200_000L) + 3_600_000) * 4096;
    }

    /** Rule 9; the next owner counts on, too. */
    @Test
    void checkedTokenLiftsTheCount() {
        long far = tokenInOneHour();
        Answer checked = a.answer(
                new CheckSequencer(name("l"), acquire("l", 1, 1, TRY).request().grant(), new FencingToken(far)));
        assertThat(checked).isEqualTo(new Answer.Checked(false));
        a.store.close();
        takesOver(b);
        assertThat(granted(b, "m", 2, 1).token().value()).isGreaterThan(far);
    }

    /** 2.21 */
    @Test
    void theNextOwnerHonoursTheRecoveryWindow() {
        granted(a, "l", 1, 1);
        servers.log.flush();
        b.live(3_500);
        assertThat(refusal(b.answer(acquire("l", 2, 1, TRY)))).isEqualTo(Reason.RECOVERING);
        b.store.close();
        Server c = servers.server("c:7400");
        c.store.takeTurn();
        assertThat(refusal(c.answer(acquire("l", 3, 1, TRY)))).isEqualTo(Reason.RECOVERING);
        c.live(11_000);
        assertThat(c.answer(acquire("l", 3, 2, TRY))).isInstanceOf(Answer.Granted.class);
    }

    /** 2.22 */
    @Test
    void memoryIsDroppedWhenTheLogIsHeldByAnother() {
        granted(a, "l", 1, 1);
        a.client.cut(true);
        takesOver(b);
        a.client.cut(false);
        var unused = a.ask(new Describe(name("l")));
        a.live(50);
        assertThat(a.store.epochBase()).as("no memory").isZero();
    }

    @Test
    void waitersAreOfferedTheLockWhenTheRecoveryWindowEnds() {
        servers.log.flush();
        a.live(4_000);
        a.answer(acquire("l", 1, 1, MINUTE));
        assertThat(a.told).noneMatch(event -> event instanceof LockEvent.Offered);
        a.live(11_000);
        assertThat(a.told).anyMatch(event -> event instanceof LockEvent.Offered);
    }

    @Test
    void recordsThatAreGoneAreALossOfData() {
        Grant held = granted(a, "l", 1, 1);
        Image image = servers.log.image();
        image.counting().clear();
        servers.log.restore(image);
        b.live(6_000);
        assertThat(refusal(b.answer(acquire("l", 2, 1, TRY)))).isEqualTo(Reason.RECOVERING);
        assertThat(b.answer(new Reclaim(name("l"), held.request(), held.token())))
                .isInstanceOf(Answer.Resumed.class);
        b.live(10_000);
        assertThat(granted(b, "m", 2, 2).token().value())
                .isGreaterThan(held.token().value());
    }

    /** Somebody deleted a part of a lock's record: what is left of the lock is of an earlier moment. */
    @Test
    void aLockOfWhichAPartIsMissingIsForgottenAndTheOthersAreKept() {
        Grant other = granted(a, "other", 1, 1);
        granted(a, "l", 1, 2);
        a.answer(acquire("l", 2, 1, MINUTE));
        a.answer(acquire("l", 3, 1, MINUTE));
        Image image = servers.log.image();
        long damaged = image.records().entrySet().stream()
                .filter(record -> record.getValue().size() > 2)
                .findFirst()
                .orElseThrow()
                .getKey();
        image.lose(damaged, 1);
        servers.log.restore(image);
        b.live(6_000);
        assertThat(refusal(b.answer(acquire("l", 4, 1, TRY)))).isEqualTo(Reason.RECOVERING);
        assertThat(b.answer(new Renew(
                        name("other"),
                        other.id(),
                        other.token(),
                        other.request().id().session())))
                .isInstanceOf(Answer.Renewed.class);
        b.live(10_000);
        granted(b, "l", 4, 2);
        assertThat(servers.log.records()).as("it is deleted").doesNotContainKey(damaged);
    }
}
