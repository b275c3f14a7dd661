package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.all;
import static dev.palisade.server.store.redis.Linked.failure;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.store.StoreFailure;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** A Redis that is there and does not do what it is asked. */
class RedisLinkTroubleTest {
    @Test
    void aFrozenPrimaryIsLeftAndFoundAgain() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            get(add(link, "k"));
            redis.freeze();
            long before = System.nanoTime();
            Reply inFlight = add(link, "k");

            assertThat(failure(inFlight))
                    .hasMessage("Redis 127.0.0.1:" + redis.port()
                            + " was asked, and it did not answer within 2 s: the outcome is unknown")
                    .satisfies(failure -> assertThat(failure.isOutcomeUnknown()).isTrue());
            assertThat(Duration.ofNanos(System.nanoTime() - before))
                    .isBetween(Linked.TIMEOUT, Linked.TIMEOUT.multipliedBy(3));
            before = System.nanoTime();
            assertUnavailable(failure(add(link, "k")), "was lost (it did not answer within 2 s)");
            assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Linked.TIMEOUT);

            redis.thaw();
            await().until(() -> LinkState.of(link).up());
            get(add(link, "other"));
            assertThat(redis.ask("GET", "k"))
                    .as("written before the freeze, and delivered")
                    .isEqualTo("2");
        }
    }

    @Test
    void evictionPolicySetLaterIsReportedOnce() throws Exception {
        List<String> warnings = new CopyOnWriteArrayList<>();
        EventLog events = new EventLog(line -> {}, warnings::add, System::nanoTime, 100);
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = RedisLink.open(
                        new RedisLinkConfig(StoreUri.parse(redis.uri()), Linked.TIMEOUT),
                        0,
                        Linked.library(1),
                        Linked.LOOP,
                        events)) {
            redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
            await().until(() -> !warnings.isEmpty());
            redis.ask("CONFIG", "RESETSTAT");
            // Each check follows a call of a function, and the next ones find the same.
            await().until(() -> redis.ask("INFO", "commandstats").matches("(?s).*cmdstat_fcall:calls=[3-9],.*"));
            assertThat(LinkState.of(link).up()).isTrue();
            assertThat(warnings)
                    .singleElement()
                    .asString()
                    .startsWith("event=store_warning message=\"Redis 127.0.0.1:" + redis.port()
                            + " has maxmemory-policy allkeys-lru");
        }
    }

    @Test
    void aPrimaryThatFreezesWhileNobodyAsksIsLeftToo() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            redis.freeze();
            await().until(() -> !LinkState.of(link).up());
            redis.thaw();
            await().until(() -> LinkState.of(link).up());
        }
    }

    @Test
    void aLoopThatWasBusyIsNotTakenForARedisThatIsSilent() throws Exception {
        Duration timeout = Duration.ofMillis(500);
        try (RedisProcess redis = RedisProcess.start();
                RedisProcess other = RedisProcess.start();
                RedisLink link = Linked.open(redis.uri(), timeout);
                RedisLink sameLoop = Linked.open(other)) {
            redis.freeze();
            Reply asked = add(link, "k");
            CompletableFuture<Void> busy = new CompletableFuture<>();
            sameLoop.later(() -> {
                var unused = add(sameLoop, "k").thenRun(() -> {
                    redis.thaw(); // It answers while nobody reads.
                    spin(timeout.multipliedBy(3));
                    busy.complete(null);
                });
            });

            get(busy);
            assertThat(get(asked)).isEqualTo(List.of(1L));
            assertThat(LinkState.of(link).lastFailure()).isEmpty();
        }
    }

    /** It answers something all the while, so another call is the oldest at each look. */
    @Test
    void aRedisThatIsLateWithEveryAnswerIsGivenUp() throws Exception {
        Duration timeout = Duration.ofMillis(500);
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis.uri(), timeout)) {
            List<Reply> asked = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                // Too long to be read all at once and answered in one piece.
                asked.add(link.call("linktest_slow", Linked.all("k"), Linked.all("30", "x".repeat(20_000))));
            }
            Reply last = asked.get(199);
            assertThatThrownBy(() -> get(last))
                    .hasRootCauseInstanceOf(StoreFailure.class)
                    .rootCause()
                    .hasMessageContaining("it did not answer within 500 ms");
            assertThat(asked.stream().filter(each -> !each.isCompletedExceptionally()))
                    .as("answered before")
                    .hasSizeLessThan(40);
        }
    }

    private static void spin(Duration time) {
        long from = System.nanoTime();
        while (System.nanoTime() - from < time.toNanos()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aPrimaryThatWasMadeAReplicaIsLeftUntilItIsAPrimaryAgain() throws Exception {
        try (RedisProcess other = RedisProcess.start();
                RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            redis.ask("REPLICAOF", other.host(), String.valueOf(other.port()));
            await().untilAsserted(() -> assertUnavailable(failure(add(link, "k")), "is a replica (READONLY "));
            await().untilAsserted(
                            () -> assertThat(LinkState.of(link).lastFailure()).contains("is a replica of 127.0.0.1:"));
            assertThat(LinkState.of(link).up()).isFalse();

            redis.ask("REPLICAOF", "NO", "ONE");
            await().until(() -> LinkState.of(link).up());
            get(add(link, "k"));
            assertThat(LinkState.of(link).replicationId()).isEqualTo(redis.info("master_replid"));
        }
    }

    @Test
    void aFullMemoryRefusesAndIsForgottenWhenThereIsRoom() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            redis.ask("CONFIG", "SET", "maxmemory", "1");
            assertUnavailable(failure(add(link, "k")), "has no memory for writes; raise its maxmemory (OOM ");
            redis.ask("CONFIG", "SET", "maxmemory", "0");
            assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
            assertThat(LinkState.of(link).up()).isTrue();
        }
    }

    @Test
    void tooFewReplicasRefuse() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            redis.ask("CONFIG", "SET", "min-replicas-to-write", "1");
            assertUnavailable(failure(add(link, "k")), "has fewer replicas than its min-replicas-to-write");
            redis.ask("CONFIG", "SET", "min-replicas-to-write", "0");
            assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
        }
    }

    @Test
    void aDiskThatCannotBeWrittenRefuses() throws Exception {
        try (RedisProcess redis = RedisProcess.start("save 3600 1");
                RedisLink link = Linked.open(redis)) {
            Files.createDirectory(redis.folder().resolve("dump.rdb")); // Where the snapshot should be.
            redis.ask("SET", "x", "1");
            redis.ask("BGSAVE");
            await().until(() -> redis.info("rdb_last_bgsave_status").equals("err"));

            assertUnavailable(
                    failure(add(link, "k")), "cannot write to its disk, and refuses writes; see its log (MISCONF ");
            redis.ask("CONFIG", "SET", "stop-writes-on-bgsave-error", "no");
            assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
        }
    }

    @Test
    void aFunctionThatLoopsIsGivenUpAndThenRedisSaysThatItIsBusyUntilItIsKilled() throws Exception {
        try (RedisProcess redis = RedisProcess.start("busy-reply-threshold 100");
                RedisLink link = Linked.open(redis)) {
            Reply looping = link.call("linktest_loop", all("k"), List.of());
            await().untilAsserted(() -> assertUnavailable(failure(add(link, "k")), "is busy with a function"));
            redis.ask("FUNCTION", "KILL");

            assertThat(failure(looping).isOutcomeUnknown()).isTrue();
            await().until(() -> LinkState.of(link).up());
            assertThat(get(add(link, "another"))).isEqualTo(List.of(1L));
        }
    }

    @Test
    void aRightThatIsTakenAwayRefuses() throws Exception {
        try (RedisProcess redis = RedisProcess.start("user pali on >secret ~* &* +@all");
                RedisLink link = Linked.open("redis://pali:secret@127.0.0.1:" + redis.port())) {
            get(add(link, "k"));
            redis.ask("ACL", "SETUSER", "pali", "resetkeys");
            assertUnavailable(failure(add(link, "k")), "refuses a right that this user needs; see its ACL (NOPERM ");

            redis.ask("ACL", "SETUSER", "pali", "allkeys", "-incrby");
            StoreFailure inside = failure(add(link, "k"));
            assertThat(inside.isOutcomeUnknown())
                    .as("a function was at work: " + inside.getMessage())
                    .isTrue();
        }
    }

    @Test
    void anErrorFromInsideAFunctionIsUnknownBecauseFunctionsDoNotRollBack() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                RedisLink link = Linked.open(redis)) {
            StoreFailure failure = failure(link.call("linktest_fail", all("k"), List.of()));

            assertThat(failure.isOutcomeUnknown()).isTrue();
            assertThat(failure.getMessage())
                    .startsWith("Redis 127.0.0.1:" + redis.port() + " answered with an error (WRONGTYPE ");
            assertThat(redis.ask("GET", "k")).isEqualTo("1");
        }
    }

    @Test
    void aServerThatLoadsItsDataIsLinkedWhenItHas() throws Exception {
        try (RedisProcess redis = RedisProcess.start(
                        "key-load-delay 1000", "loading-process-events-interval-bytes 1024", "save 3600 1");
                RedisLink link = Linked.open(redis)) {
            for (int i = 0; i < 3_000; i++) {
                get(add(link, "k-" + i));
            }
            get(add(link, "k"));
            redis.ask("SAVE");
            redis.kill9();
            Thread restarting = new Thread(redis::restart);
            restarting.start();
            await().untilAsserted(
                            () -> assertThat(LinkState.of(link).lastFailure()).contains("is loading its data"));
            assertUnavailable(failure(add(link, "k")), "is loading its data; wait until it has");
            restarting.join();
            await().until(() -> LinkState.of(link).up());
            assertThat(get(add(link, "k"))).isEqualTo(List.of(2L));
        }
    }

    @Test
    void aPasswordThatIsChangedIsMissedAtTheNextConnection() throws Exception {
        try (RedisProcess redis = RedisProcess.start("user pali on >one ~* &* +@all");
                RedisLink link = Linked.open("redis://pali:one@127.0.0.1:" + redis.port())) {
            redis.ask("ACL", "SETUSER", "pali", "resetpass", ">two");
            redis.ask("CLIENT", "KILL", "USER", "pali");
            await().untilAsserted(() ->
                    assertThat(LinkState.of(link).lastFailure()).contains("does not take this user and password"));
            redis.ask("ACL", "SETUSER", "pali", ">one");
            await().until(() -> LinkState.of(link).up());
        }
    }

    private static void assertUnavailable(StoreFailure failure, String why) {
        assertThat(failure.isOutcomeUnknown()).as(failure.getMessage()).isFalse();
        assertThat(failure.getMessage())
                .startsWith("Redis 127.0.0.1:")
                .contains(why)
                .doesNotContain("\n");
    }
}
