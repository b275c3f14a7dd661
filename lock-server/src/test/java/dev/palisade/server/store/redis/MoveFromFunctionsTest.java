package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.LockName;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.SharedLogs;
import java.time.Duration;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A log takes the place of the functions, under the same prefix of one Redis. */
class MoveFromFunctionsTest {
    private static final String PREFIX = "p";
    private static final long RECOVERY_MILLIS = 10_000;
    private static final LockName IN_DOMAIN_0 = Stream.iterate(0, i -> i + 1)
            .map(i -> new LockName("lock/" + i))
            .filter(lock -> lock.domain() == 0)
            .findFirst()
            .orElseThrow();

    private final Queue<String> events = new ConcurrentLinkedQueue<>();
    private RedisProcess redis;
    private EarlierFunctions functions;
    private long token;

    @BeforeEach
    void grantByFunctions() throws Exception {
        redis = RedisProcess.start();
        functions = new EarlierFunctions(redis, PREFIX);
        assertThat(functions.acquire(EarlierFunctions.LOCK)).contains("Granted");
        token = functions.token(EarlierFunctions.LOCK);
    }

    @AfterEach
    void close() {
        redis.close();
    }

    private FencedLog open(RedisLogConfig.Start start, String prefix) throws StoreUnusable, InterruptedException {
        return open(redis.uri(), start, prefix);
    }

    private FencedLog open(String uri, RedisLogConfig.Start start, String prefix)
            throws StoreUnusable, InterruptedException {
        return RedisLog.open(
                new RedisLogConfig(
                        new RedisLinkConfig(StoreUri.parse(uri), Duration.ofSeconds(5)),
                        prefix,
                        "log:1",
                        start,
                        RECOVERY_MILLIS,
                        2_000,
                        100,
                        ""),
                SharedLogs.ANY_KEYS,
                Linked.LOOP,
                new Random(),
                new EventLog(events::add, System::nanoTime, 1_000));
    }

    private FencedLog move() throws StoreUnusable, InterruptedException {
        return open(RedisLogConfig.Start.FROM_FUNCTIONS, PREFIX);
    }

    private static Claimed claimed(FencedLog log) {
        return (Claimed) await().until(() -> log.claim(Past.NONE), ClaimReply.Claimed.class::isInstance);
    }

    @Test
    void theLogCountsAboveTheFunctionsAndLetsHoldersComeBackFirst() throws Exception {
        long ahead = token + (1L << 40); // Of another domain, and far ahead of the clock.
        redis.ask("SET", "p:{200}:token", Long.toString(ahead));
        try (FencedLog log = move()) {
            Claimed claimed = claimed(log);
            assertThat(claimed.tokens()).isEqualTo(ahead);
            assertThat(claimed.mine()).isFalse();
            assertThat(claimed.whole()).isFalse();
            assertThat(claimed.recoveringUntilMillis()).isEqualTo(claimed.nowMillis() + RECOVERY_MILLIS);
        }
        assertThat(events).anyMatch(line -> line.contains("moved_from_functions") && line.contains("" + ahead));
    }

    @Test
    void theFunctionsDecideNothingAnyMoreAndSayWhy() throws Exception {
        try (FencedLog log = move()) {
            assertThat(functions.acquire(EarlierFunctions.LOCK)).contains("the locks of this prefix moved into a log");
            assertThat(functions.acquire(new LockName("orders/8")))
                    .contains("the locks of this prefix moved into a log");
            claimed(log);
        }
    }

    /** As a server of a release before loads the functions again after they were deleted. */
    @Test
    void functionsThatWereLoadedAgainDecideNothingEither() throws Exception {
        move().close();
        redis.ask("FUNCTION", "FLUSH");
        functions.load();
        assertThat(functions.acquire(EarlierFunctions.LOCK)).contains("moved into a log");
    }

    /** Then nothing of theirs is left, and the log's server finds an empty Redis. */
    @Test
    void functionsDecideNothingBesideALogThatBeganAfterAllKeysWereLost() throws Exception {
        redis.ask("FLUSHALL");
        try (FencedLog log = open(RedisLogConfig.Start.CAREFUL, PREFIX)) {
            claimed(log);
            assertThat(functions.acquire(IN_DOMAIN_0)).contains("moved into a log");
            assertThat(redis.ask("EVAL", "return #redis.call('KEYS', 'p:{*}:token')", "0"))
                    .isEqualTo("0");
            assertThat(log.claim(Past.NONE)).isInstanceOf(ClaimReply.class);
        }
    }

    @Test
    void nothingButTheMarksIsLeftOfTheirKeys() throws Exception {
        assertThat(redis.ask("EXISTS", "p:{" + EarlierFunctions.LOCK.domain() + "}:lock:orders/7"))
                .isEqualTo("1");
        move().close();
        assertThat(redis.ask("EVAL", "return #redis.call('KEYS', 'p:{*}:epoch')", "0"))
                .isEqualTo("256");
        assertThat(redis.ask("DBSIZE")).isEqualTo("257"); // And the count of tokens.
    }

    @Test
    void aSecondStartGoesOnAndCountsNothingAgain() throws Exception {
        long issued;
        try (FencedLog log = move()) {
            issued = claimed(log).tokens() + 640;
            log.sync(issued);
            log.endClaim();
        }
        try (FencedLog log = move()) {
            Claimed claimed = claimed(log);
            assertThat(claimed.whole()).isTrue();
            assertThat(claimed.tokens()).isEqualTo(issued);
        }
        open(RedisLogConfig.Start.CAREFUL, PREFIX).close();
    }

    @Test
    void aStartThatFindsALogContinuesWithItThoughTheMarkIsLost() throws Exception {
        try (FencedLog log = move()) {
            claimed(log);
        }
        redis.ask("DEL", "p:{0}:epoch");
        move().close();
    }

    /** The guide's command for a first start has {@code --init}. */
    @Test
    void initDoesNotSkipTheWaitForHolders() throws Exception {
        move().close();
        try (FencedLog log = open(RedisLogConfig.Start.NEW, PREFIX)) {
            assertThat(claimed(log).recoveringUntilMillis()).isPositive();
        }
    }

    @Test
    void whatAnInterruptedMoveLeftIsDeletedByTheNextOne() throws Exception {
        move().close();
        redis.ask("SET", "p:{3}:lock:left", "x");
        redis.ask("ZADD", "p:{3}:names", "0", "left");
        redis.ask("ZADD", "p:{4}:due", "0", "left");
        move().close();
        assertThat(redis.ask("EXISTS", "p:{3}:lock:left", "p:{3}:names", "p:{4}:due"))
                .isEqualTo("0");
    }

    @Test
    void rightsThatAreMissingAreNamedBeforeAnythingIsMoved() {
        redis.ask("ACL", "SETUSER", "mover", "on", ">secret", "~p:*", "+@all", "-set", "-zrem");
        String uri = redis.uri().replace("redis://", "redis://mover:secret@");
        assertThatThrownBy(() -> open(uri, RedisLogConfig.Start.FROM_FUNCTIONS, PREFIX))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("does not let this user do +set +zrem, which --from-functions needs");
        assertThat(functions.acquire(new LockName("orders/8"))).contains("Granted");
    }

    /** The functions ignore such a count, and so did their next epoch. */
    @Test
    void aCountThatNoTokenReachesIsIgnored() throws Exception {
        redis.ask("SET", "p:{9}:token", "9007199254740995");
        redis.ask("SET", "p:{10}:token", "9999999999999999");
        redis.ask("SET", "p:{0}:log:token", "9999999999999999");
        try (FencedLog log = move()) {
            assertThat(claimed(log).tokens()).isBetween(token, token + (1L << 30));
        }
    }

    @Test
    void keysOfAnotherTypeAreDeletedLikeTheOthers() throws Exception {
        redis.ask("SET", "p:{5}:names", "junk");
        move().close();
        assertThat(redis.ask("EXISTS", "p:{5}:names")).isEqualTo("0");
    }

    @Test
    void aHeadThatSomebodyElseWroteIsNamedFirst() {
        redis.ask("SET", "p:{0}:log:head", "junk");
        assertThatThrownBy(this::move).hasMessageContaining("has a key p:{0}:log:head that is no hash but a string");
        assertThat(functions.acquire(new LockName("orders/8"))).contains("Granted");
    }

    @Test
    void theReasonOfAFailureIsTold() throws Exception {
        open(RedisLogConfig.Start.CAREFUL, "other").close(); // The library is there.
        redis.ask("CONFIG", "SET", "maxmemory", "1");
        assertThatThrownBy(this::move)
                .hasMessageContaining("has no memory for writes")
                .hasMessageContaining("start again with --from-functions")
                .hasMessageNotContaining("StoreFailure");
    }

    @Test
    void theKeyThatIsInTheWayIsNamed() throws Exception {
        try (FencedLog log = move()) {
            claimed(log);
        }
        redis.ask("HDEL", "p:{0}:epoch", "moved");
        assertThatThrownBy(this::move).hasMessageContaining("(p:{0}:epoch); stop those servers and delete that key");
    }

    @Test
    void anyOtherStartIsRefusedAndNamesTheOption() {
        for (RedisLogConfig.Start start :
                new RedisLogConfig.Start[] {RedisLogConfig.Start.CAREFUL, RedisLogConfig.Start.NEW}) {
            assertThatThrownBy(() -> open(start, PREFIX))
                    .isInstanceOf(StoreUnusable.class)
                    .hasMessageContaining("p:{0}:token")
                    .hasMessageContaining("--from-functions");
        }
        assertThat(functions.acquire(new LockName("orders/8"))).contains("Granted");
    }

    @Test
    void aPrefixWithoutLocksIsRefused() {
        assertThatThrownBy(() -> open(RedisLogConfig.Start.FROM_FUNCTIONS, "other"))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("has no locks of an earlier release under the keys other:*");
        assertThat(redis.ask("EVAL", "return #redis.call('KEYS', 'other:*')", "0"))
                .isEqualTo("0");
    }
}
