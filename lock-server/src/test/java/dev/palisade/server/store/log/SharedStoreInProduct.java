package dev.palisade.server.store.log;

import static dev.palisade.server.store.log.Asking.acquire;
import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.Reason;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.OwnershipMachine;
import dev.palisade.server.store.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two lock servers over one log in a real product, whose clocks are in the test's hand. */
abstract class SharedStoreInProduct {
    static final Duration TRY = Duration.ZERO;
    static final Duration MINUTE = Duration.ofMinutes(1);

    private final AtomicLong nanos = new AtomicLong(5_000_000_000L);
    private final AtomicInteger epochs = new AtomicInteger();
    SharedLogs logs;
    LoggedStore a;
    LoggedStore b;

    abstract SharedLogs openLogs() throws Exception;

    @BeforeEach
    void aIsActive() throws Exception {
        logs = openLogs();
        a = server("a:7400");
        b = server("b:7400");
        a.takeTurn();
        assertThat(a.status().up()).isTrue();
    }

    @AfterEach
    void close() {
        a.close();
        b.close();
        logs.close();
    }

    LoggedStore server(String address) throws Exception {
        return server(address, false);
    }

    private LoggedStore server(String address, boolean resumes) throws Exception {
        LoggedStore store = LoggedStore.share(
                LoggedStoreConfig.DEFAULTS,
                Limits.DEFAULTS,
                logs.open(address),
                new OwnershipMachine.Settings(SharedLogs.CLAIM_MILLIS, 2_000, resumes),
                nanos::get,
                () -> epochs.incrementAndGet() * 7919,
                why -> {
                    throw new AssertionError("fatal: " + why);
                });
        store.listenInTurns(new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {}

            @Override
            public void told() {}
        });
        return store;
    }

    void pass(long millis) {
        nanos.addAndGet(millis * 1_000_000);
        logs.pass(millis);
    }

    /** Time passes between turns, and not while the product replies. */
    void live(LoggedStore server, long millis) {
        for (long passed = 0; passed < millis; passed += 50) {
            pass(50);
            server.takeTurn();
            if (server.awaitsOutcome()) {
                await().pollInterval(Duration.ofMillis(1)).until(() -> !server.awaitsOutcome());
            }
        }
    }

    /** Until its status says why it is down. */
    void livesUntil(LoggedStore server, String why) {
        await().pollInterval(Duration.ofMillis(1)).untilAsserted(() -> {
            pass(5);
            server.takeTurn();
            assertThat(server.status().why()).contains(why);
            assertThat(server.status().up()).isFalse();
        });
    }

    static Answer ask(LoggedStore server, Command command) {
        CompletableFuture<Answer> reply = server.execute(command).toCompletableFuture();
        await().pollInterval(Duration.ofMillis(1)).until(() -> {
            server.takeTurn();
            return reply.isDone();
        });
        return reply.join();
    }

    static Grant granted(LoggedStore server, String lock, long session, long request) {
        return ((Answer.Granted) ask(server, acquire(lock, session, request, TRY))).grant();
    }

    static LockState described(LoggedStore server, String lock) {
        return ((Answer.Described) ask(server, new Describe(name(lock)))).state();
    }

    @Test
    void initOnALogThatIsThereIsReported() throws Exception {
        assertThat(logs.warnings()).noneMatch(line -> line.contains("event=init_ignored"));
        server("c:7400").close();
        assertThat(logs.warnings())
                .filteredOn(line -> line.contains("event=init_ignored"))
                .singleElement()
                .asString()
                .contains("start without it");
    }

    @Test
    void anotherServerTakesOverWhenTheClaimHasEnded() {
        Grant held = granted(a, "l", 1, 1);
        ask(a, acquire("l", 2, 1, MINUTE));
        b.takeTurn();
        assertThat(b.status().up()).isFalse();
        live(b, 2_500);
        assertThat(b.status().up()).isTrue();
        assertThat(described(b, "l").holders().get(0).id()).isEqualTo(held.id());
        assertThat(described(b, "l").waiters()).hasSize(1);
        ask(b, release(name("l"), held));
        assertThat(described(b, "l").offers().get(0).token().value())
                .isGreaterThan(held.token().value() + FencingToken.PER_GRANT - 1);

        CompletableFuture<Answer> late = a.execute(new Renew(
                        name("l"), held.id(), held.token(), held.request().id().session()))
                .toCompletableFuture();
        await().until(() -> {
            a.takeTurn();
            return !a.status().up();
        });
        assertThat(late.isDone() && !late.isCompletedExceptionally())
                .as("renewed by a former owner")
                .isFalse();
    }

    @Test
    void aStoppedServerLeavesTheLogToTheNextAtOnce() {
        Grant held = granted(a, "l", 1, 1);
        a.close();
        b.takeTurn();
        assertThat(b.status().up()).isTrue();
        assertThat(ask(b, release(name("l"), held))).isInstanceOf(Answer.Released.class);
    }

    @Test
    void aBrokenConnectionCostsTheActiveServerNothing() {
        Grant held = granted(a, "l", 1, 1);
        logs.cut();
        CompletableFuture<Answer> asked = a.execute(acquire("m", 2, 1, TRY)).toCompletableFuture();
        await().until(() -> {
            pass(20);
            a.takeTurn();
            return asked.isDone();
        });
        assertThat(asked.join()).isInstanceOf(Answer.Granted.class);
        assertThat(described(a, "l").holders().get(0).id()).isEqualTo(held.id());
        b.takeTurn();
        assertThat(b.status().up()).isFalse();
        assertThat(granted(a, "n", 3, 1).token().value())
                .isGreaterThan(held.token().value());
    }

    @Test
    void aLossOfAllOpensARecoveryWindow() {
        Grant held = granted(a, "l", 1, 1);
        logs.lose(SharedLogs.Loss.ALL);
        live(a, 3_000);
        assertThat(a.status().up()).isTrue();
        assertThat(((Answer.Refused) ask(a, acquire("m", 2, 1, TRY)))
                        .rejection()
                        .reason())
                .isEqualTo(Reason.RECOVERING);
        assertThat(ask(a, new Reclaim(name("l"), held.request(), held.token()))).isInstanceOf(Answer.Resumed.class);
        live(a, 11_000);
        assertThat(granted(a, "m", 2, 2).token().value())
                .isGreaterThan(held.token().value());
    }

    /** 2.21 */
    @Test
    void theNextOwnerHonoursTheRecoveryWindow() {
        granted(a, "l", 1, 1);
        logs.lose(SharedLogs.Loss.ALL);
        live(a, 3_000);
        assertThat(a.status().up()).isTrue();
        live(b, 3_000);
        assertThat(b.status().up()).isTrue();
        assertThat(((Answer.Refused) ask(b, acquire("m", 2, 1, TRY)))
                        .rejection()
                        .reason())
                .isEqualTo(Reason.RECOVERING);
    }

    @Test
    void aRestartThatKeptTheDataIsNotWhole() {
        Grant held = granted(a, "l", 1, 1);
        logs.restart();
        live(a, 3_000);
        assertThat(a.status().up()).isTrue();
        assertThat(((Answer.Refused) ask(a, acquire("m", 2, 1, TRY)))
                        .rejection()
                        .reason())
                .isEqualTo(Reason.RECOVERING);
        assertThat(described(a, "l").holders().get(0).id()).isEqualTo(held.id());
    }

    // ---- active server and standbys

    /** Asked of the product after this was called. */
    static StoreStatus.SharedLog log(LoggedStore server) {
        asked(server); // Was perhaps on its way before.
        return asked(server);
    }

    private static StoreStatus.SharedLog asked(LoggedStore server) {
        Optional<StoreStatus.SharedLog> before = server.status().log();
        await().pollInterval(Duration.ofMillis(1))
                .untilAsserted(
                        () -> assertThat(server.status().log()).isPresent().isNotSameAs(before));
        return server.status().log().orElseThrow();
    }

    @Test
    void theStatusNamesTheActiveServerAndItsStandbys() throws Exception {
        LoggedStore c = server("c:7400");
        try {
            b.takeTurn();
            live(a, 100);
            c.takeTurn();
            live(a, 1_000);
            b.takeTurn();
            ask(a, new Describe(name("l")));
            StoreStatus.SharedLog log = log(b);
            assertThat(log).isEqualTo(log(a));
            assertThat(log.activeAddress()).isEqualTo("a:7400");
            assertThat(log.writer()).isEqualTo(logs.head("writer"));
            assertThat(String.valueOf(log.batch())).isEqualTo(logs.head("seq"));
            assertThat(log.term()).isEqualTo(1);
            assertThat(log.claimMillis()).isEqualTo(SharedLogs.CLAIM_MILLIS);
            assertThat(log.remainingMillis()).isEqualTo(SharedLogs.CLAIM_MILLIS);
            assertThat(log.takeover()).isEqualTo(new StoreStatus.Takeover(Asking.START, "STARTED", ""));
            assertThat(log.standbys())
                    .containsExactly(
                            new StoreStatus.Standby("b:7400", Asking.START, Asking.START + 1_100),
                            new StoreStatus.Standby("c:7400", Asking.START + 100, Asking.START + 100));
            assertThat(b.status().sinceMillis()).as("since its start").isEqualTo(Asking.START);
        } finally {
            c.close();
        }
        live(a, 3_050);
        assertThat(log(a).standbys()).as("none has asked for 3 s").isEmpty();
        b.takeTurn();
        assertThat(log(a).standbys()).extracting(StoreStatus.Standby::address).containsExactly("b:7400");
    }

    @Test
    void theStatusSaysWhyAServerTookOver() throws Exception {
        live(b, 2_500);
        assertThat(log(b).takeover().why()).isEqualTo("CLAIM_RAN_OUT");
        assertThat(log(b).takeover().fromAddress()).isEqualTo("a:7400");
        assertThat(log(b).remainingMillis()).isPositive();

        LoggedStore again = server("b:7400"); // As after a kill.
        again.takeTurn();
        assertThat(log(again).takeover().why()).isEqualTo("RESTARTED");
        again.close();
        live(a, 4_500);
        assertThat(log(a).takeover().why()).isEqualTo("STOPPED");

        long tookOver = log(a).takeover().atMillis();
        logs.cut();
        live(a, 1_000);
        assertThat(a.status().up()).isTrue();
        assertThat(log(a).takeover().atMillis()).as("no other server").isEqualTo(tookOver);

        logs.lose(SharedLogs.Loss.ALL);
        live(a, 3_000);
        assertThat(log(a).takeover().why()).isEqualTo("DATA_LOST");
        logs.lose(SharedLogs.Loss.HEAD);
        await().until(() -> a.status().log().isEmpty());
    }

    // ---- records that are gone

    static boolean isRecovering(LoggedStore server, String lock) {
        return ask(server, acquire(lock, 9, System.nanoTime(), TRY)) instanceof Answer.Refused refused
                && refused.rejection().reason() == Reason.RECOVERING;
    }

    @Test
    void recordsThatAreGoneAltogetherAreALossOfData() {
        Grant kept = granted(a, "early", 1, 1);
        for (int i = 2; i < 80; i++) {
            granted(a, "late/" + i, 1, i);
        }
        logs.lose(SharedLogs.Loss.LATER_BATCHES);
        live(b, 6_000);
        assertThat(b.status().up()).isTrue();
        assertThat(log(b).takeover().why()).isEqualTo("DATA_LOST");
        assertThat(isRecovering(b, "late/70")).isTrue();
        assertThat(described(b, "early").holders().get(0).id()).isEqualTo(kept.id());
        live(b, 11_000);
        assertThat(isRecovering(b, "late/70")).isFalse();
        b.close();
        live(a, 4_500);
        assertThat(log(a).takeover().why()).as("what is left is complete").isEqualTo("STOPPED");
        assertThat(isRecovering(a, "late/71")).isFalse();
    }

    @Test
    void theHeadCountsTheBatches() throws Exception {
        Grant one = granted(a, "one", 1, 1);
        ask(a, acquire("one", 2, 1, MINUTE));
        ask(a, release(name("one"), one));
        ask(a, release(name("two"), granted(a, "two", 1, 2)));
        assertThat(counted()).isEqualTo(stored());
        logs.cut();
        granted(a, "three", 1, 3);
        assertThat(counted()).isEqualTo(stored());
        live(b, 2_500);
        granted(b, "four", 1, 4);
        assertThat(log(b).takeover().why()).isEqualTo("CLAIM_RAN_OUT");
        assertThat(counted()).isEqualTo(stored());
        b.close();
        live(a, 4_500);
        assertThat(log(a).takeover().why()).isEqualTo("STOPPED");
        granted(a, "five", 1, 5);
        assertThat(counted()).isEqualTo(stored());
    }

    /** A count that is too high would be a loss of data at each takeover. */
    @Test
    void theCountStaysRightWhateverIsDone() {
        Random random = new Random(7);
        List<Release> held = new ArrayList<>();
        LoggedStore active = a;
        for (int step = 1; step <= 200; step++) {
            String lock = "l" + random.nextInt(6);
            int session = random.nextInt(4);
            switch (random.nextInt(6)) {
                case 0, 1, 2 -> {
                    Answer answer = ask(active, acquire(lock, session, step, random.nextBoolean() ? TRY : MINUTE));
                    if (answer instanceof Answer.Granted granted) {
                        held.add(release(name(lock), granted.grant()));
                    }
                }
                case 3 -> {
                    if (!held.isEmpty()) {
                        ask(active, held.remove(random.nextInt(held.size())));
                    }
                }
                case 4 -> ask(active, new ForceRelease(name(lock), 0, "test", "why"));
                default -> live(active, random.nextInt(20) == 0 ? 70_000 : random.nextInt(400));
            }
            if (step % 50 == 0) {
                active = active == a ? b : a;
                live(active, 5_000);
                assertThat(log(active).takeover().why()).isEqualTo("CLAIM_RAN_OUT");
                assertThat(log(active).takeover().atMillis()).isGreaterThan(Asking.START);
                ask(active, new Describe(name(lock)));
                assertThat(counted()).as("step " + step).isEqualTo(stored());
            }
        }
    }

    private long counted() {
        return Long.parseLong(logs.head("count"));
    }

    private long stored() {
        return logs.batches();
    }

    // ---- memory that is written back

    void theMemoryOfTheActiveServerIsWrittenBackAfter(SharedLogs.Loss loss) throws Exception {
        live(a, 400);
        a.close();
        LoggedStore resuming = server("c:7400", true);
        try {
            live(resuming, 4_500);
            Grant kept = granted(resuming, "early", 1, 1);
            ask(resuming, acquire("early", 2, 1, MINUTE));
            for (int i = 2; i < 80; i++) {
                granted(resuming, "late/" + i, 1, i);
            }
            logs.lose(loss);
            CompletableFuture<Answer> asked =
                    resuming.execute(acquire("m", 3, 1, TRY)).toCompletableFuture();
            live(resuming, 1_500);
            assertThat(asked).as("its token would be of the epoch before").isCompletedExceptionally();
            granted(resuming, "m", 3, 2);
            assertThat(described(resuming, "early").holders().get(0).id()).isEqualTo(kept.id());
            assertThat(logs.generations()).containsExactly("2");
            granted(resuming, "afterwards", 4, 1);
            assertThat(logs.head("generation")).isEqualTo("2");
            assertThat(counted()).isEqualTo(stored());
        } finally {
            resuming.close();
        }
        live(b, 3_000);
        assertThat(b.status().up()).isTrue();
        assertThat(described(b, "early").waiters()).hasSize(1);
        for (String lock : List.of("late/2", "late/79", "m", "afterwards")) {
            assertThat(described(b, lock).holders()).as(lock).hasSize(1);
        }
        assertThat(granted(b, "n", 9, 9)).as("no recovery window").isNotNull();
    }
}
