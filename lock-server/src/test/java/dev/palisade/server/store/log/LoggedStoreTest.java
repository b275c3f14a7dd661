package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.ask;
import static dev.palisade.server.store.log.Asking.described;
import static dev.palisade.server.store.log.Asking.granted;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Barrier;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Waiter;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.embedded.Durability;
import dev.palisade.server.store.embedded.Journals;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LoggedStoreTest {
    private static final Duration TRY = Duration.ZERO;
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final Asking asking = new Asking();

    private static Reason refusal(Answer answer) {
        return ((Answer.Refused) answer).rejection().reason();
    }

    private static int namesKnown(LoggedStore store) throws Exception {
        return ((Map<?, ?>) Asking.ofTable(store, "slots")).size();
    }

    @Test
    void holdersOffersQueueOrderAndEndsSurviveARestart(@TempDir Path directory) throws Exception {
        Grant held;
        Grant released;
        try (LoggedStore store = asking.open(directory)) {
            held = granted(store, acquire("held", 1, 1, TRY));
            for (int waiter = 2; waiter <= 9; waiter++) {
                ask(store, acquire("held", waiter, 1, Duration.ofMinutes(5)));
            }
            released = granted(store, acquire("released", 1, 2, TRY));
            ask(store, release(name("released"), released));
            Grant first = granted(store, acquire("offered", 1, 3, TRY));
            ask(store, acquire("offered", 2, 3, Duration.ofMinutes(5)));
            ask(store, release(name("offered"), first));
            assertThat(described(store, "offered").offers()).hasSize(1);
        }
        asking.pass(Duration.ofHours(1));
        try (LoggedStore store = asking.open(directory)) {
            LockState state = described(store, "held");
            assertThat(state.holders()).singleElement().satisfies(grant -> {
                assertThat(grant.token()).isEqualTo(held.token());
                assertThat(grant.expiresAtMillis()).as("a full lease").isEqualTo(store.nowMillis() + 10_000);
            });
            assertThat(state.waiters()).isEmpty(); // Their wait of five minutes ended while the store was down.
            assertThat(described(store, "offered").offers()).hasSize(1);
            assertThat(ask(store, acquire("offered", 2, 3, MINUTE))).isInstanceOf(Answer.Granted.class);
            assertThat(ask(store, release(name("held"), held))).isInstanceOf(Answer.Released.class);
        }
    }

    @Test
    void waitersKeepTheirOrderAndAreDroppedUnlessHeardOfAgain(@TempDir Path directory) throws Exception {
        Grant held;
        try (LoggedStore store = asking.open(directory)) {
            held = granted(store, acquire("a", 1, 1, TRY));
            for (int waiter = 2; waiter <= 9; waiter++) {
                ask(store, acquire("a", waiter, 1, Duration.ofHours(1)));
            }
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(described(store, "a").waiters())
                    .extracting(waiter -> waiter.request().id().session().low())
                    .containsExactly(2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L);
            assertThat(ask(store, acquire("a", 5, 1, Duration.ofHours(1)))).isEqualTo(new Answer.Queued(4));
            assertThat(ask(store, acquire("a", 3, 1, Duration.ofHours(1)))).isEqualTo(new Answer.Queued(2));
            for (int i = 0; i < 3; i++) {
                asking.pass(Duration.ofSeconds(4));
                ask(store, new Renew(name("a"), held.id(), held.token(), Asking.session(1)));
            }
            assertThat(described(store, "a").waiters())
                    .extracting(waiter -> waiter.request().id().session().low())
                    .containsExactly(3L, 5L);
        }
    }

    @Test
    void endsAreRememberedAcrossARestart(@TempDir Path directory) throws Exception {
        Grant released;
        try (LoggedStore store = asking.open(directory)) {
            released = granted(store, acquire("a", 1, 1, TRY));
            ask(store, release(name("a"), released));
            granted(store, acquire("a", 2, 1, TRY));
            asking.pass(Duration.ofSeconds(11));
            assertThat(described(store, "a").tombstones())
                    .extracting(Tombstone::end)
                    .containsExactly(End.RELEASED, End.EXPIRED);
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(ask(store, release(name("a"), released))).isInstanceOf(Answer.Released.class);
            assertThat(refusal(ask(store, acquire("a", 1, 1, TRY)))).isEqualTo(Reason.LEASE_EXPIRED);
            assertThat(refusal(ask(store, acquire("a", 2, 1, TRY)))).isEqualTo(Reason.LEASE_EXPIRED);
        }
    }

    @Test
    void aLockDelayOutlivesARestartAndTheWaiterBehindItIsServedWhenItEnds(@TempDir Path directory) throws Exception {
        List<LockEvent> seen = new java.util.concurrent.CopyOnWriteArrayList<>();
        LockStore.Listener listener = new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                seen.addAll(events);
            }

            @Override
            public void told() {}
        };
        try (LoggedStore store = asking.open(directory)) {
            granted(store, acquire("a", 1, 1, TRY, Mode.EXCLUSIVE, Duration.ofSeconds(30), Duration.ZERO));
            asking.pass(Duration.ofSeconds(11));
            assertThat(described(store, "a").holders()).isEmpty();
        }
        try (LoggedStore store = asking.open(directory, listener)) {
            assertThat(ask(store, acquire("a", 2, 1, TRY))).isInstanceOf(Answer.Busy.class);
            ask(store, acquire("a", 3, 1, Duration.ofMinutes(5)));
            asking.pass(Duration.ofSeconds(30));
            // Nobody asks about the lock any more: time alone must make the offer.
            await().untilAsserted(() -> assertThat(seen).hasAtLeastOneElementOfType(LockEvent.Offered.class));
        }
    }

    @Test
    void aLookAtTheEndOfALockDelayDoesNotLoseALaterDeadline(@TempDir Path directory) throws Exception {
        AtomicInteger expired = new AtomicInteger();
        LockStore.Listener listener = new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                for (LockEvent event : events) {
                    if (event instanceof LockEvent.Ended ended
                            && ended.tombstone().end() == End.EXPIRED) {
                        expired.incrementAndGet();
                    }
                }
            }

            @Override
            public void told() {}
        };
        try (LoggedStore store = asking.open(directory, listener)) {
            granted(store, acquire("a", 1, 1, TRY, Mode.SHARED, Duration.ofSeconds(2), Duration.ZERO));
            asking.pass(Duration.ofSeconds(5));
            granted(store, acquire("a", 2, 1, TRY, Mode.SHARED, Duration.ZERO, Duration.ZERO));
            ask(store, acquire("a", 3, 1, Duration.ofMinutes(5)));
            asking.pass(Duration.ofMillis(5_500)); // The first lease ends; the lock-delay runs for 2 s from its end.
            await().untilAsserted(() -> assertThat(expired).hasValue(1));
            asking.pass(Duration.ofSeconds(2)); // The lock-delay ends and changes nothing: the second lease stands.
            CompletableFuture<Answer> other =
                    store.execute(new Describe(name("b"))).toCompletableFuture();
            await().until(other::isDone);
            asking.pass(Duration.ofSeconds(3));
            await("the second lease ends by itself")
                    .untilAsserted(() -> assertThat(expired).hasValue(2));
        }
    }

    @Test
    void tokensRiseAcrossRestartsWhateverTheClockDoes(@TempDir Path directory) throws Exception {
        long last = 0;
        long lastMillis = 0;
        for (int life = 0; life < 8; life++) {
            switch (life % 4) {
                case 0 -> asking.wallMillis.addAndGet(-86_400_000);
                case 1 -> asking.wallMillis.addAndGet(1);
                case 2 -> asking.wallMillis.set(1);
                default -> asking.wallMillis.set(Asking.START + life * 1_000_000L);
            }
            asking.nanos.set(life % 3 == 0 ? Long.MAX_VALUE - 5 : -life * 1_000_000_000L);
            try (LoggedStore store = asking.open(directory)) {
                assertThat(store.nowMillis())
                        .as("the store's time in life " + life)
                        .isGreaterThanOrEqualTo(lastMillis);
                for (int i = 0; i < 3; i++) {
                    Grant grant = granted(store, acquire("a", life + 1, i + 1, TRY));
                    assertThat(grant.token().value()).as("life " + life).isGreaterThan(last);
                    last = grant.token().value();
                    ask(store, release(name("a"), grant));
                }
                asking.nanos.addAndGet(life % 2 == 0 ? 0 : 3_000_000); // Also two lives in one millisecond.
                granted(store, acquire("b" + life, 1, 1, TRY));
                lastMillis = store.nowMillis();
            }
        }
    }

    @Test
    void tokensRiseAfterTheReservationWasUsedUp(@TempDir Path directory) throws Exception {
        long last = 0;
        try (LoggedStore store = asking.open(directory)) {
            List<CompletableFuture<Answer>> answers = new ArrayList<>();
            for (int i = 0; i < TokenCounter.RESERVE + 8_000; i++) {
                // One name, so that the test needs little memory: each grant is released by the next command.
                Acquire asked = acquire("a", 1, i + 1, TRY);
                answers.add(store.execute(asked).toCompletableFuture());
                store.execute(new Leave(asked.lock(), asked.request().id(), Long.MAX_VALUE));
                if (i % 10_000 == 0) {
                    answers.get(i).get();
                }
            }
            for (CompletableFuture<Answer> answer : answers) {
                long token = ((Answer.Granted) answer.get()).grant().token().value();
                assertThat(token).isGreaterThan(last);
                last = token;
            }
            assertThat(last - store.epochBase()).isGreaterThan(TokenCounter.RESERVE);
        }
        // The clock is past the first reservation and not past the tokens: only the second reservation tells.
        asking.wallMillis.addAndGet(TokenCounter.RESERVE / 4_096 + 1);
        try (LoggedStore store = asking.open(directory)) {
            assertThat(store.epochBase()).isGreaterThanOrEqualTo(last);
        }
    }

    /** Grants are not synced, so a stop of the machine may forget them; the reservation of their tokens it may not. */
    @Test
    void withoutSyncedGrantsTokensRiseAfterAStopOfTheMachine(@TempDir Path temp) throws Exception {
        asking.durability = Durability.PROCESS;
        Path image = temp.resolve("image");
        long last = 0;
        try (LoggedStore store = asking.open(temp.resolve("store"))) {
            for (int i = 0; i < 2 * TokenCounter.RESERVE / FencingToken.PER_GRANT; i++) {
                Grant grant = granted(store, acquire("a", 1, i + 1, TRY));
                last = grant.token().value();
                ask(store, release(name("a"), grant));
            }
            Journals.copy(temp.resolve("store"), image);
        }
        Journals.forgetWhatWasNotSynced(image);
        // The clock is past the first reservation and not past the tokens.
        asking.wallMillis.addAndGet(TokenCounter.RESERVE / 4_096 + 1);
        try (LoggedStore store = asking.open(image)) {
            assertThat(store.epochBase()).isGreaterThanOrEqualTo(last);
        }
    }

    @Test
    void aBarrierIsAboveWhatWasIssuedAndBelowWhatWillBeAlsoAcrossARestart(@TempDir Path directory) throws Exception {
        long last;
        try (LoggedStore store = asking.open(directory)) {
            Grant before = granted(store, acquire("a", 1, 1, TRY));
            long barrier = barrier(store);
            Grant after = granted(store, acquire("b", 1, 2, TRY));
            assertThat(barrier)
                    .isBetween(before.token().value() + 1, after.token().value() - 1);
            assertThat(namesKnown(store)).as("a barrier makes no name known").isEqualTo(2);
            // Past the reservation by barriers alone: the next one must be written before it is answered.
            List<CompletableFuture<Answer>> answers = new ArrayList<>();
            for (int i = 0; i <= TokenCounter.RESERVE; i++) {
                answers.add(store.execute(new Barrier(name("a"))).toCompletableFuture());
                if (i % 10_000 == 0) {
                    answers.get(i).get();
                }
            }
            last = barrier;
            for (CompletableFuture<Answer> answer : answers) {
                long next = ((Answer.Raised) answer.get()).barrier().value();
                assertThat(next).isGreaterThan(last);
                last = next;
            }
        }
        // The clock is past the first reservation and not past the tokens: only the second reservation tells.
        asking.wallMillis.addAndGet(TokenCounter.RESERVE / 4_096 + 1);
        try (LoggedStore store = asking.open(directory)) {
            assertThat(store.epochBase()).isGreaterThanOrEqualTo(last);
            assertThat(barrier(store)).isGreaterThan(last);
        }
    }

    private static long barrier(LoggedStore store) {
        return ((Answer.Raised) ask(store, new Barrier(name("c")))).barrier().value();
    }

    @Test
    void unusedLocksAreForgottenAfterAMinuteAndOnlyTheEpochRemains(@TempDir Path directory) throws Exception {
        int names = Integer.getInteger("palisade.names", 30_000);
        try (LoggedStore store = asking.open(directory)) {
            List<CompletableFuture<Answer>> left = new ArrayList<>();
            for (int i = 0; i < names; i++) {
                Acquire asked = acquire("name" + i, 1, i + 1, TRY);
                store.execute(asked);
                left.add(store.execute(new Leave(asked.lock(), new RequestId(Asking.session(1), i + 1), Long.MAX_VALUE))
                        .toCompletableFuture());
                if (left.size() == 20_000) {
                    CompletableFuture.allOf(left.toArray(new CompletableFuture<?>[0]))
                            .get();
                    left.clear();
                }
            }
            CompletableFuture.allOf(left.toArray(new CompletableFuture<?>[0])).get();
            // One whose lease expires into a lock-delay: nobody ever asks about it again.
            granted(store, acquire("delayed", 1, 1, TRY, Mode.EXCLUSIVE, MINUTE, Duration.ZERO));
            asking.pass(Duration.ofSeconds(11));
            await().untilAsserted(() ->
                    assertThat(described(store, "delayed").holders()).isEmpty());
            assertThat(namesKnown(store)).isGreaterThan(1);
            asking.pass(Duration.ofSeconds(61));
            await().untilAsserted(() -> assertThat(namesKnown(store)).isZero());
        }
        AtomicInteger records = new AtomicInteger();
        try (FencedLog journal = Asking.journal(directory)) {
            java.util.Set<Long> live = new java.util.HashSet<>();
            journal.load(new FencedLog.Loader() {
                @Override
                public void record(long id, int index, java.nio.ByteBuffer body) {
                    live.add(id);
                }

                @Override
                public void deleted(long id) {
                    live.remove(id);
                }
            });
            records.set(live.size());
        }
        assertThat(records).as("live records").hasValue(1);
    }

    @Test
    void aRestartDoesNotShortenAMinimumHold(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            Grant held = granted(store, Asking.holding("a", 1, 1, Duration.ofMinutes(10)));
            ask(store, release(name("a"), held));
            Grant forced = granted(store, Asking.holding("forced", 1, 2, Duration.ofMinutes(10)));
            ask(store, release(name("forced"), forced));
            assertThat(ask(store, new ForceRelease(name("forced"), 0, "ops", "rerun")))
                    .isEqualTo(new Answer.ForceReleased(1));
            granted(store, Asking.holding("held", 1, 3, Duration.ofMinutes(10)));
        }
        asking.pass(Duration.ofMinutes(4));
        try (LoggedStore store = asking.open(directory)) {
            assertThat(store.history(name("forced")).toCompletableFuture().get())
                    .extracting(HistoryEntry::detail)
                    .containsExactly("by ops: rerun");
            granted(store, acquire("forced", 2, 1, TRY));
            assertThat(described(store, "held").minimumHoldUntilMillis())
                    .isEqualTo(Asking.START + Duration.ofMinutes(10).toMillis());
            assertThat(((Answer.Busy) ask(store, acquire("a", 2, 2, TRY))).remainingMillis())
                    .isEqualTo(Duration.ofMinutes(6).toMillis());
            Answer queued = ask(store, acquire("a", 2, 3, MINUTE.multipliedBy(20)));
            assertThat(queued).isInstanceOf(Answer.Queued.class);
            asking.pass(Duration.ofMinutes(6).minusMillis(1));
            assertThat(described(store, "a").offers()).isEmpty();
            asking.pass(Duration.ofMillis(1));
            assertThat(described(store, "a").offers()).hasSize(1);
        }
    }

    @Test
    void aClosedLockIsNotForgottenEarlyAndKeepsNoOtherInMemory(@TempDir Path directory) throws Exception {
        asking.config = new LoggedStoreConfig(1_000, 1_000, 10, 1_000, 1_000);
        try (LoggedStore store = asking.open(directory)) {
            for (int i = 1; i <= 50; i++) {
                Grant held = granted(store, Asking.holding("closed" + i, 1, i, Duration.ofMinutes(10)));
                ask(store, release(name("closed" + i), held));
            }
            for (int i = 1; i <= 50; i++) {
                ask(store, release(name("open" + i), granted(store, acquire("open" + i, 2, i, TRY))));
            }
            assertThat(namesKnown(store)).isEqualTo(60);
            assertThat(ask(store, acquire("closed1", 3, 1, TRY))).isInstanceOf(Answer.Busy.class);
            asking.pass(Duration.ofSeconds(61));
            await().untilAsserted(() -> assertThat(namesKnown(store)).isEqualTo(50));
            asking.pass(Duration.ofMinutes(9));
            await().untilAsserted(() -> assertThat(namesKnown(store)).isZero());
        }
    }

    /** The journal drops files as soon as nothing in them lives: of a dead record some parts go before others. */
    @Test
    void partsOfDeadLocksInFilesThatAreLeftHarmNothing(@TempDir Path directory) throws Exception {
        Path journal = directory.resolve("journal");
        Grant keeper;
        try (LoggedStore store = asking.open(directory)) {
            keeper = spanFiles(store, 1, 70_000);
            asking.pass(Duration.ofSeconds(61));
            await().untilAsserted(() -> assertThat(namesKnown(store)).isEqualTo(1));
            spanFiles(store, 70_001, 110_000);
            await().until(() -> java.nio.file.Files.notExists(journal.resolve("palisade-1.log")));
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(described(store, "keeper35000").holders())
                    .singleElement()
                    .extracting(Grant::token)
                    .isEqualTo(keeper.token());
        }
    }

    /** Each lock is left long after it was acquired, so that some are acquired in one file and left in the next. */
    private static Grant spanFiles(LoggedStore store, int from, int to) throws Exception {
        CompletableFuture<Answer> kept = CompletableFuture.completedFuture(new Answer.Expired());
        CompletableFuture<Answer> last = kept;
        for (int i = from; i < to + 2_000; i++) {
            if (i < to) {
                store.execute(new Acquire(name("lock" + i), large(1, i, Mode.EXCLUSIVE), 0, 0, Long.MAX_VALUE));
            }
            if (i == (from + to) / 2) {
                kept = store.execute(new Acquire(name("keeper" + i), large(2, i, Mode.EXCLUSIVE), 0, 0, Long.MAX_VALUE))
                        .toCompletableFuture();
            }
            if (i >= from + 2_000) {
                last = store.execute(new Leave(
                                name("lock" + (i - 2_000)),
                                new RequestId(Asking.session(1), i - 2_000),
                                Long.MAX_VALUE))
                        .toCompletableFuture();
            }
            if (i % 20_000 == 0) {
                last.get();
            }
        }
        last.get();
        return ((Answer.Granted) kept.get()).grant();
    }

    @Test
    void aBusyLockPushesNoOtherOutOfMemory(@TempDir Path directory) throws Exception {
        asking.config = new LoggedStoreConfig(100, 100_000, 10, 1_000, 1_000);
        try (LoggedStore store = asking.open(directory)) {
            ask(store, release(name("quiet"), granted(store, acquire("quiet", 1, 1, TRY))));
            for (int i = 0; i < 50; i++) {
                asking.pass(Duration.ofMillis(10));
                ask(store, release(name("busy"), granted(store, acquire("busy", 2, i + 1, TRY))));
            }
            assertThat(described(store, "quiet").tombstones()).hasSize(1);
            assertThat(described(store, "fresh").forgottenUntilMillis()).isZero();
        }
    }

    @Test
    void forgettingEarlyMakesOldDuplicatesRefusedAlsoAfterARestart(@TempDir Path directory) throws Exception {
        asking.config = new LoggedStoreConfig(100, 100_000, 3, 1_000, 1_000);
        try (LoggedStore store = asking.open(directory)) {
            for (int i = 1; i <= 6; i++) {
                asking.pass(Duration.ofSeconds(1));
                ask(store, release(name("n" + i), granted(store, acquire("n" + i, 1, i, TRY))));
            }
            await().untilAsserted(() -> assertThat(namesKnown(store)).isEqualTo(3));
            assertThat(refusal(ask(store, aged("n1", 1, Duration.ofSeconds(10)))))
                    .isEqualTo(Reason.LEASE_EXPIRED);
        }
        try (LoggedStore store = asking.open(directory)) {
            assertThat(refusal(ask(store, aged("n1", 1, Duration.ofSeconds(10)))))
                    .isEqualTo(Reason.LEASE_EXPIRED);
            assertThat(ask(store, aged("n1", 99, Duration.ZERO))).isInstanceOf(Answer.Granted.class);
        }
    }

    private static Acquire aged(String lock, long request, Duration age) {
        return acquire(lock, 1, request, TRY, Mode.EXCLUSIVE, Duration.ZERO, age);
    }

    @Test
    void anotherNameThanLocksMaxIsRefusedAndKnownOnesGoOn(@TempDir Path directory) throws Exception {
        asking.config = new LoggedStoreConfig(2, 100_000, 10, 1_000, 1_000);
        try (LoggedStore store = asking.open(directory)) {
            granted(store, acquire("a", 1, 1, TRY));
            granted(store, acquire("b", 1, 2, TRY));
            Answer refused = ask(store, acquire("c", 1, 3, TRY));
            assertThat(refusal(refused)).isEqualTo(Reason.LIMIT_EXCEEDED);
            assertThat(((Answer.Refused) refused).rejection().message()).contains("locksMax is 2");
            assertThat(ask(store, acquire("a", 2, 1, MINUTE))).isEqualTo(new Answer.Queued(1));
        }
    }

    @Test
    void locksBeyondALoweredLimitAreKept(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            for (int i = 0; i < 3; i++) {
                granted(store, acquire("a" + i, 1, i + 1, TRY));
            }
        }
        asking.config = asking.config.withLocksMax(2);
        try (LoggedStore store = asking.open(directory)) {
            assertThat(store.restoredLocks()).isEqualTo(3);
            assertThat(refusal(ask(store, acquire("a3", 1, 4, TRY)))).isEqualTo(Reason.LIMIT_EXCEEDED);
            assertThat(ask(store, acquire("a2", 2, 1, MINUTE))).isEqualTo(new Answer.Queued(1));
        }
    }

    @Test
    void rememberedNamesKeepNoNewOnesOut(@TempDir Path directory) throws Exception {
        asking.config = asking.config.withLocksMax(4);
        try (LoggedStore store = asking.open(directory)) {
            for (int i = 0; i < 10; i++) {
                Grant held = granted(store, acquire("a" + i, 1, i + 1, TRY));
                assertThat(ask(store, release(name("a" + i), held))).isInstanceOf(Answer.Released.class);
            }
        }
    }

    @Test
    void locksMaxByDefaultLeavesHalfOfTheHeap() {
        assertThat(LoggedStoreConfig.locksMax(256 << 20)).isBetween(90_000, 110_000);
        assertThat(LoggedStoreConfig.locksMax(64L << 30)).isEqualTo(1_000_000);
    }

    @Test
    void waitersOfAllLocksTogetherAreBoundedAcrossARestartAndMakeRoomWhenTheyLeave(@TempDir Path directory)
            throws Exception {
        asking.config = new LoggedStoreConfig(100, 2, 100, 1_000, 1_000);
        try (LoggedStore store = asking.open(directory)) {
            granted(store, acquire("a", 1, 1, TRY));
            granted(store, acquire("b", 1, 2, TRY));
            assertThat(ask(store, acquire("a", 2, 1, MINUTE))).isEqualTo(new Answer.Queued(1));
            assertThat(ask(store, acquire("b", 3, 1, MINUTE))).isEqualTo(new Answer.Queued(1));
        }
        try (LoggedStore store = asking.open(directory)) {
            Answer refused = ask(store, acquire("a", 4, 1, MINUTE));
            assertThat(refusal(refused)).isEqualTo(Reason.LIMIT_EXCEEDED);
            assertThat(((Answer.Refused) refused).rejection().metadata()).containsEntry("limit", "waitersMax");
            assertThat(described(store, "a").waiters()).as("it did not slip in").hasSize(1);
            assertThat(ask(store, acquire("a", 2, 1, MINUTE)))
                    .as("one that waits already")
                    .isEqualTo(new Answer.Queued(1));
            granted(store, acquire("free", 4, 2, MINUTE));
            assertThat(ask(store, acquire("a", 4, 3, TRY))).isInstanceOf(Answer.Busy.class);

            ask(store, new Leave(name("b"), new RequestId(Asking.session(3), 1), Long.MAX_VALUE));
            assertThat(ask(store, acquire("a", 5, 1, MINUTE))).isEqualTo(new Answer.Queued(2));
            assertThat(refusal(ask(store, acquire("b", 6, 1, MINUTE)))).isEqualTo(Reason.LIMIT_EXCEEDED);
        }
    }

    @Test
    void moreCommandsThanQueueMaxAreRefusedAsNotDone(@TempDir Path directory) throws Exception {
        asking.config = new LoggedStoreConfig(10, 100_000, 10, 5, 1_000);
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        LockStore.Listener blocking = new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                stuck.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }

            @Override
            public void told() {}
        };
        try (LoggedStore store = asking.open(directory, blocking)) {
            granted(store, acquire("a", 1, 1, TRY));
            stuck.await();
            List<CompletableFuture<Answer>> asked = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                asked.add(store.execute(new Describe(name("a"))).toCompletableFuture());
            }
            assertThat(asked.get(5)).isCompletedExceptionally();
            assertThatThrownBy(asked.get(5)::get).cause().isInstanceOfSatisfying(StoreFailure.class, failure -> {
                assertThat(failure.isOutcomeUnknown()).isFalse();
                assertThat(failure).hasMessageContaining("queueMax is 5");
            });
            go.countDown();
            for (CompletableFuture<Answer> each : asked.subList(0, 5)) {
                assertThat(each.get()).isInstanceOf(Answer.Described.class);
            }
        }
    }

    @Test
    void everyCommandIsAnsweredAlsoWhileTheStoreCloses(@TempDir Path directory) throws Exception {
        for (int round = 0; round < 2; round++) {
            LoggedStore store = asking.open(directory);
            List<CompletableFuture<Answer>> asked = new java.util.concurrent.CopyOnWriteArrayList<>();
            AtomicInteger number = new AtomicInteger(round * 1_000_000);
            java.util.concurrent.atomic.AtomicBoolean stop = new java.util.concurrent.atomic.AtomicBoolean();
            List<Thread> askers = new ArrayList<>();
            for (int t = 0; t < 3; t++) {
                Thread asker = new Thread(() -> {
                    while (!stop.get()) {
                        asked.add(store.execute(acquire("a", 1, number.incrementAndGet(), TRY))
                                .toCompletableFuture());
                    }
                });
                asker.start();
                askers.add(asker);
            }
            await().until(() -> asked.size() > 200);
            store.close();
            int atClose = asked.size();
            await().until(() -> asked.size() > atClose);
            stop.set(true);
            for (Thread asker : askers) {
                asker.join();
            }
            assertThat(asked).allMatch(CompletableFuture::isDone);
        }
    }

    @Test
    void aListenerThatThrowsHarmsNobody(@TempDir Path directory) throws Exception {
        LockStore.Listener throwing = new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                throw new IllegalStateException("a listener's own trouble");
            }

            @Override
            public void told() {
                throw new IllegalStateException("a listener's own trouble");
            }
        };
        try (LoggedStore store = asking.open(directory, throwing)) {
            granted(store, acquire("a", 1, 1, TRY));
            granted(store, acquire("b", 1, 2, TRY));
        }
    }

    @Test
    void anExpiredHoldersReleaseNeverFreesItsSuccessor(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            int wrong = 0;
            for (int race = 0; race < 20; race++) {
                long request = race + 1L;
                List<Grant> first = new ArrayList<>();
                List<CompletableFuture<Answer>> asked = new ArrayList<>();
                for (int i = 0; i < 500; i++) {
                    asked.add(store.execute(acquire("lock" + i, 1, request * 1_000 + i, TRY))
                            .toCompletableFuture());
                    store.execute(acquire("lock" + i, 2, request * 1_000 + i, MINUTE));
                }
                for (CompletableFuture<Answer> each : asked) {
                    first.add(((Answer.Granted) each.get()).grant());
                }
                asking.pass(Duration.ofMillis(9_999 + race % 3));
                // The holder's release, the successor's asking again, which accepts, and time itself race in one batch
                // or several.
                List<CompletableFuture<Answer>> late = new ArrayList<>();
                List<CompletableFuture<Answer>> accepted = new ArrayList<>();
                for (int i = 0; i < 500; i++) {
                    LockName lock = name("lock" + i);
                    late.add(store.execute(release(lock, first.get(i))).toCompletableFuture());
                    accepted.add(store.execute(acquire("lock" + i, 2, request * 1_000 + i, MINUTE))
                            .toCompletableFuture());
                    late.add(store.execute(release(lock, first.get(i))).toCompletableFuture());
                }
                List<CompletableFuture<Answer>> last = new ArrayList<>();
                for (int i = 0; i < 500; i++) {
                    Grant successor = ((Answer.Granted) accepted.get(i).get()).grant();
                    boolean inTime = late.get(2 * i).get() instanceof Answer.Released;
                    boolean stillReleased = late.get(2 * i + 1).get() instanceof Answer.Released;
                    if (inTime != stillReleased
                            || (inTime && race % 3 != 0)
                            || successor.token().compareTo(first.get(i).token()) <= 0) {
                        wrong++;
                    }
                    last.add(store.execute(release(name("lock" + i), successor)).toCompletableFuture());
                }
                for (CompletableFuture<Answer> each : last) {
                    if (!(each.get() instanceof Answer.Released)) {
                        wrong++;
                    }
                }
            }
            assertThat(wrong).isZero();
        }
    }

    @Test
    void theLargestPossibleLockFitsIntoOneRecordAndIsReadBack() {
        LockName lock = name("é".repeat(128));
        List<Grant> holders = new ArrayList<>();
        List<Waiter> waiters = new ArrayList<>();
        List<Tombstone> ends = new ArrayList<>();
        for (int i = 1; i <= Limits.DEFAULTS.holdersPerLockMax(); i++) {
            holders.add(new Grant(
                    large(1, i, Mode.SHARED, 3_600_000), new FencingToken(FencingToken.MAX), Asking.START, 0));
        }
        for (int i = 1; i <= Limits.DEFAULTS.waitersPerLockMax(); i++) {
            waiters.add(new Waiter(
                    large(2, i, Mode.EXCLUSIVE, 3_600_000), Asking.START, Asking.START, 0, Waiter.Lapse.LAST_CHANCE));
        }
        for (int i = 1; i <= Limits.TOMBSTONES_PER_LOCK_MAX; i++) {
            ends.add(new Tombstone(
                    new RequestId(Asking.session(3), i),
                    new GrantId(3, i),
                    1,
                    End.FORCE_RELEASED,
                    Asking.START,
                    "by " + "é".repeat(128) + ": " + "é".repeat(128)));
        }
        LockState state = new LockState(
                lock, holders, List.of(), waiters, Tombstones.of(ends), Asking.START, Asking.START, Asking.START);
        dev.palisade.server.store.log.format.Entry entry = EventCodec.entry(Asking.START, state);
        assertThat(entry.getSerializedSize())
                .as("the journal's buffer is 4 MiB")
                .isLessThan((4 << 20) - 1_000);
        assertThat(EventCodec.apply(LockState.unused(lock, 0), entry)).isEqualTo(state);
    }

    private static Request large(long session, long request, Mode mode) {
        return large(session, request, mode, 0);
    }

    private static Request large(long session, long request, Mode mode, long lockAtLeastForMillis) {
        return new Request(
                new RequestId(Asking.session(session), request),
                Long.MAX_VALUE,
                new GrantId(session, request),
                mode,
                300_000,
                60_000,
                lockAtLeastForMillis,
                "é".repeat(128),
                "é".repeat(128));
    }
}
