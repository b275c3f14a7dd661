package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import dev.palisade.server.ownership.AppendFailure;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.LogFailure;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A log in a Redis that refuses, breaks, is not the primary any more, or has keys of something else. */
class RedisLogTest {
    private static final String HEAD = "p:{0}:log:head";
    private static final String TOKENS = "p:{0}:log:token";
    private static final String BATCHES = "p:{0}:log:1";

    private RedisLogs logs;
    private RedisProcess redis;
    private FencedLog log;
    private Claimed claimed;

    @BeforeEach
    void claim() throws Exception {
        logs = new RedisLogs(1_800_000_000_000L);
        redis = logs.redis;
        log = logs.open("a:1");
        claimed = (Claimed) log.claim(Past.NONE);
    }

    @AfterEach
    void close() {
        log.close();
        logs.close();
    }

    private static byte[] body(String text) {
        return LogInRedis.bytes(text);
    }

    private LogFailure failure() {
        return catchThrowableOfType(LogFailure.class, () -> log.sync(64));
    }

    /** What is stored, without a look at the owner. */
    private Map<Long, String> records() throws Exception {
        return records(log, () -> {});
    }

    private Past past(long stored, long unconfirmed) {
        return new Past(
                claimed.term(),
                false,
                stored == 0 ? Position.NONE : new Position(claimed.writer(), stored),
                unconfirmed == 0 ? Position.NONE : new Position(claimed.writer(), unconfirmed),
                List.of());
    }

    // ---- refusals

    @ParameterizedTest
    @CsvSource({
        "maxmemory, 1, 0, has no memory for writes",
        "min-replicas-to-write, 1, 0, has fewer replicas than its min-replicas-to-write",
    })
    void aDefiniteRefusalLeavesTheBatchToBeSentAgain(String setting, String bad, String good, String says)
            throws Exception {
        long id = log.add(body("r"));
        redis.ask("CONFIG", "SET", setting, bad);
        assertThat(failure().kind()).isEqualTo(AppendFailure.REFUSED);
        assertThat(failure().line()).contains(says);
        redis.ask("CONFIG", "SET", setting, good);
        log.sync(64);
        assertThat(records()).isEqualTo(Map.of(id, "r"));
    }

    private CompletableFuture<Optional<LogFailure>> send() {
        CompletableFuture<Optional<LogFailure>> outcome = new CompletableFuture<>();
        log.send(64, failure -> outcome.complete(Optional.ofNullable(failure)));
        return outcome;
    }

    @Test
    void ofTwoBatchesOnlyTheRefusedOneIsSentAgain() throws Exception {
        long id = log.add(body("one"));
        assertThat(send().get()).isEmpty();
        log.update(id, 1, body("two"));
        redis.ask("CONFIG", "SET", "maxmemory", "1");
        assertThat(send().get()).map(LogFailure::kind).hasValue(AppendFailure.REFUSED);
        redis.ask("CONFIG", "SET", "maxmemory", "0");
        log.sync(64);
        assertThat(redis.ask("HKEYS", BATCHES)).isEqualTo("1\n2");
        assertThat(redis.ask("HGET", BATCHES, "1")).contains("one");
        assertThat(redis.ask("HGET", BATCHES, "2")).contains("two").doesNotContain("one");
        assertThat(redis.ask("HGET", HEAD, "seq")).isEqualTo("2");
    }

    @Test
    void aBatchAfterOneThatWasRefusedIsNotStored() throws Exception {
        long id = log.add(body("one"));
        redis.ask("CONFIG", "SET", "maxmemory", "1");
        var first = send();
        assertThat(first.get()).map(LogFailure::kind).hasValue(AppendFailure.REFUSED);
        redis.ask("CONFIG", "SET", "maxmemory", "0");
        log.update(id, 1, body(", two"));
        assertThat(send().get()).hasValueSatisfying(failure -> {
            assertThat(failure.kind()).isEqualTo(AppendFailure.UNKNOWN);
            assertThat(failure.line()).contains("the log is at another batch");
        });
        Claimed again = (Claimed) claimWithin(past(0, 2));
        assertThat(again.mine()).isTrue();
        assertThat(again.position()).isEqualTo(Position.NONE);
        log.sync(64);
        assertThat(records()).isEqualTo(Map.of(id, "one, two"));
    }

    @Test
    void aFullRedisTakesWhatFrees() throws Exception {
        long id = log.add(body("r"));
        log.sync(64);
        redis.ask("CONFIG", "SET", "maxmemory", "1");
        log.delete(id);
        assertThat(failure().kind()).isEqualTo(AppendFailure.REFUSED);
        log.frees(true);
        log.sync(64);
        assertThat(records()).isEmpty();
        log.frees(false);
        assertThat(failure().kind()).isEqualTo(AppendFailure.REFUSED);
        assertThat(log.claim(past(2, 0))).as("a claim when memory is full").isInstanceOf(Claimed.class);
    }

    @Test
    void aUserWithoutTheRightsIsRefusedAtTheStart() {
        redis.ask("ACL", "SETUSER", "u", "on", ">x", "~*", "&*", "+@all", "-hdel", "-incrby");
        assertThatThrownBy(() -> logs.open(
                        redis.uri().replace("redis://", "redis://u:x@"),
                        "b:1",
                        Duration.ofSeconds(2),
                        TestLibrary.log()))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("does not let this user do +incrby +hdel; give it these rights on the keys p:*");
        assertThat(redis.ask("ACL", "SETUSER", "u", "+hdel", "+incrby", "-fcall"))
                .isEqualTo("OK");
        assertThatThrownBy(() -> logs.open(
                        redis.uri().replace("redis://", "redis://u:x@"),
                        "b:1",
                        Duration.ofSeconds(2),
                        TestLibrary.log()))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("refuses a right that this user needs");
    }

    /** As docs/guides/operate.md has it. */
    @Test
    void theRightsThatTheGuideNamesAreEnough() throws Exception {
        String guide = Files.readString(Path.of("../docs/guides/operate.md"));
        List<String> lines = guide.lines()
                .filter(line -> line.startsWith("ACL SETUSER palisade-log "))
                .toList();
        assertThat(lines).as("the guide names them").isNotEmpty();
        lines.forEach(line -> redis.ask(line.replace("~palisade:*", "~p:*").split(" ")));
        log.endClaim();
        log.close();
        log = logs.open(
                redis.uri().replace("redis://", "redis://palisade-log:SECRET@"),
                "b:1",
                Duration.ofSeconds(2),
                TestLibrary.log());
        assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
        assertThat(records()).isEmpty();
        long kept = log.add(body("kept"));
        log.delete(log.add(body("deleted")));
        log.sync(64);
        assertThat(records()).isEqualTo(Map.of(kept, "kept"));
    }

    // ---- keys of something else

    @ParameterizedTest
    @CsvSource({HEAD + ", hash", TOKENS + ", count of tokens", BATCHES + ", hash"})
    void aKeyOfAnotherTypeIsNamedAndNothingIsWritten(String key, String says) throws Exception {
        log.add(body("one"));
        redis.ask("DEL", key);
        redis.ask("RPUSH", key, "something else");
        LogFailure failure = failure();
        assertThat(failure.kind()).isEqualTo(AppendFailure.UNKNOWN);
        assertThat(failure.line()).contains("WRONGTYPE");
        if (!key.equals(BATCHES)) {
            assertThat(redis.ask("EXISTS", BATCHES)).as("the batch").isEqualTo("0");
        }
        assertThatThrownBy(() -> logs.open("b:1"))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("has a key " + key + " that is no " + says);
        assertThatThrownBy(() -> log.claim(past(0, 1)))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("has a key " + key + " that is no " + says + " but a list");
        assertThat(redis.ask("LRANGE", key, "0", "-1")).isEqualTo("something else");
    }

    @Test
    void batchesOfAnotherTypeAreNamedWhenTheyAreRead() throws Exception {
        log.add(body("one"));
        log.sync(64);
        log.endClaim();
        claimed = (Claimed) log.claim(Past.NONE);
        redis.ask("DEL", BATCHES); // Between the claim and the read.
        redis.ask("RPUSH", BATCHES, "something else");
        assertThatThrownBy(this::records)
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("has a key " + BATCHES + " that is no hash");
    }

    @ParameterizedTest
    @CsvSource({"p:{0}:token", "p:{0}:epoch"})
    void keysOfTheFunctionsAreRefused(String key) {
        redis.ask("SET", key, "1");
        assertThatThrownBy(() -> logs.open("b:1"))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("has locks of an earlier release")
                .hasMessageContaining("delete that key");
        assertThatThrownBy(() -> log.claim(past(0, 1)))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("use another --store-prefix");
    }

    /** The look at the start is one, too. The servers of this test have {@code --init}. */
    @Test
    void whatAServerSawOnceIsNoNewLogWhenItIsGone() throws Exception {
        try (FencedLog other = logs.open("b:1")) {
            redis.ask("FLUSHALL");
            logs.set("a1", true);
            assertThat(other.claim(Past.NONE)).isInstanceOf(ClaimReply.Settling.class);
            logs.set("a2", true);
            assertThat(other.claim(Past.NONE)).isInstanceOf(ClaimReply.Settling.class);
        }
    }

    /** With it no lock would be granted any more, also after the key is restored. */
    @Test
    void aCountThatNoTokenReachesIsRefusedUntilItIsRestored() throws Exception {
        log.sync(64);
        redis.ask("SET", TOKENS, "9007199254740991");
        assertThat(failure().line()).contains("the count of tokens is another one");
        assertThatThrownBy(() -> log.claim(past(1, 0)))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("has a key " + TOKENS + " that is no count of tokens but '9007199254740991'");
        redis.ask("SET", TOKENS, "64");
        assertThat(((Claimed) log.claim(past(1, 0))).mine()).isTrue();
        log.sync(96);
    }

    @Test
    void aLogOfAnotherReleaseIsRefused() {
        redis.ask("HSET", HEAD, "format", "3");
        assertThatThrownBy(() -> logs.open("b:1"))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("has a log of another release under " + HEAD
                        + " (format 3, not 2); use that release, or another --store-prefix");
        assertThat(failure().line()).contains("the log is of another release");
        assertThatThrownBy(() -> log.claim(past(0, 1))).hasMessageContaining("use that release");
    }

    @ParameterizedTest
    @CsvSource({"seq, x", "term, -1", "until, 1e9", "format, ''"})
    void aHeadThatCannotBeReadIsRefused(String field, String value) {
        redis.ask("HSET", HEAD, field, value);
        assertThatThrownBy(() -> log.claim(past(0, 1)))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("has a key " + HEAD + " whose field " + field + " cannot be read");
    }

    @Test
    void aFieldThatIsNoBatchIsRefused() throws Exception {
        log.add(body("one"));
        log.sync(64);
        redis.ask("HSET", BATCHES, "1", "something else");
        log.endClaim();
        claimed = (Claimed) log.claim(Past.NONE);
        assertThatThrownBy(this::records)
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("has a field 1 in " + BATCHES + " that is no batch of records");
        assertThat(logs.events)
                .last()
                .asString()
                .startsWith("event=log_unusable message=")
                .contains("that is no batch");
    }

    @Test
    void aBatchThatIsGoneIsALossOfData() throws Exception {
        long kept = log.add(body("kept"));
        log.sync(64);
        log.add(body("gone"));
        log.sync(64);
        log.endClaim();
        claimed = (Claimed) log.claim(Past.NONE);
        assertThat(claimed.whole()).isTrue();
        redis.ask("HDEL", BATCHES, "2");
        redis.ask("HSET", BATCHES, "3", "of an error of before"); // As many as before.
        assertThat(catchThrowableOfType(LogFailure.class, this::records).line())
                .contains("has lost records of the log");
        logs.pass(2 * RedisLogs.SETTLE_MILLIS);
        assertThat(log.claim(Past.NONE)).isInstanceOf(ClaimReply.Settling.class);
        logs.pass(2 * RedisLogs.SETTLE_MILLIS);
        claimed = (Claimed) log.claim(Past.NONE);
        assertThat(claimed.whole()).isFalse();
        assertThat(records()).isEqualTo(Map.of(kept, "kept"));
        log.sync(64);
        log.endClaim();
        assertThat(((Claimed) log.claim(Past.NONE)).whole()).as("what is left").isTrue();
        assertThat(records()).isEqualTo(Map.of(kept, "kept"));
    }

    private interface Step {
        void made() throws LogFailure;
    }

    private static Map<Long, String> records(FencedLog read, Step progress) throws Exception {
        Map<Long, String> records = new TreeMap<>();
        read.load(new FencedLog.Loader() {
            @Override
            public void record(long id, int index, ByteBuffer part) {
                records.merge(id, StandardCharsets.UTF_8.decode(part).toString(), String::concat);
            }

            @Override
            public void deleted(long id) {
                records.remove(id);
            }

            @Override
            public void progress() throws LogFailure {
                progress.made();
            }
        });
        return records;
    }

    /** A former owner still knew which records its own memory had kept. */
    @Test
    void aClaimThatIsNotConfirmedDropsNoBatch() throws Exception {
        log.endClaim();
        try (RedisProcess sentinel = new RedisSetup().sentinel("main", redis, 1).start();
                FencedLog b = logs.open("b:1");
                FencedLog a = logs.open(
                        "redis-sentinel://127.0.0.1:" + sentinel.port() + "#main",
                        "c:1",
                        Duration.ofSeconds(2),
                        TestLibrary.log(),
                        false)) {
            assertThat(a.claim(Past.NONE)).isInstanceOf(Claimed.class);
            assertThat(records(a, () -> {})).isEmpty();
            long idle = a.add(body("idle"));
            a.keepsFrom(idle);
            a.sync(0);
            long hot = a.add(body("hot"));
            for (int i = 0; i < 150; i++) {
                long next = a.add(body("hot"));
                a.delete(hot);
                hot = next;
                a.sync(0);
            }
            logs.pass(RedisLogs.CLAIM_MILLIS);
            assertThat(b.claim(Past.NONE)).isInstanceOf(Claimed.class);
            a.delete(idle); // Is not stored any more.
            a.keepsFrom(hot);
            assertThat(catchThrowableOfType(LogFailure.class, () -> a.sync(0))).isNotNull();
            assertThat(a.claim(Past.NONE)).isInstanceOf(ClaimReply.Held.class);
            logs.pass(RedisLogs.CLAIM_MILLIS);
            sentinel.freeze();
            LogFailure refused = catchThrowableOfType(LogFailure.class, () -> a.claim(Past.NONE));
            assertThat(refused.line()).contains("may not be the primary any more");
            sentinel.thaw();
            assertThat(((Claimed) b.claim(Past.NONE)).whole()).isTrue();
            assertThat(records(b, () -> {})).containsEntry(idle, "idle");
        }
    }

    @Test
    void aBatchThatIsForgottenIsNotStoredWhileTheLogIsRead() throws Exception {
        log.add(body("stored"));
        log.sync(64);
        log.add(body("forgotten"));
        redis.ask("CONFIG", "SET", "maxmemory", "1");
        assertThat(failure().kind()).isEqualTo(AppendFailure.REFUSED);
        assertThat(((Claimed) log.claim(past(1, 2))).mine()).isTrue();
        log.frees(true);
        assertThat(records(log, () -> log.sync(64))).containsValues("stored").hasSize(1);
        log.sync(64);
        assertThat(redis.ask("HKEYS", BATCHES)).isEqualTo("1");
    }

    @Test
    void aClaimIsKeptWhileALogWithoutSomeBatchesIsRead() throws Exception {
        log.add(body("one"));
        log.sync(64);
        log.add(body("two"));
        log.sync(64);
        redis.ask("HDEL", BATCHES, "2");
        logs.pass(RedisLogs.CLAIM_MILLIS);
        try (FencedLog other = logs.open("b:1")) {
            assertThat(other.claim(Past.NONE)).isInstanceOf(ClaimReply.Settling.class);
            logs.pass(2 * RedisLogs.SETTLE_MILLIS);
            assertThat(((Claimed) other.claim(Past.NONE)).whole()).isFalse();
            assertThat(records(other, () -> other.sync(64))).hasSize(1);
        }
    }

    /** Whatever is written for however long. */
    @Test
    void aLogDoesNotGrowForEver() throws Exception {
        assertThat(records()).isEmpty();
        long idle = log.add(body("idle"));
        long hot = log.add(body("hot"));
        for (int i = 0; i < 60; i++) { // 30 MB
            long next = log.add(new byte[500_000]);
            log.delete(hot);
            hot = next;
            if (idle < log.rewritesBelow()) {
                long old = idle;
                idle = log.add(body("idle"));
                log.delete(old);
            }
            log.keepsFrom(Math.min(idle, hot));
            for (int tiny = 0; tiny < 12; tiny++) {
                log.update(hot, i * 12 + tiny + 1, body("x"));
                log.sync(64);
            }
        }
        assertThat(Long.parseLong(redis.ask("MEMORY", "USAGE", BATCHES, "SAMPLES", "0")))
                .isLessThan(15_000_000);
        log.endClaim();
        claimed = (Claimed) log.claim(Past.NONE);
        assertThat(records()).containsOnlyKeys(idle, hot).containsEntry(idle, "idle");
    }

    @Test
    void serverWhoseAddressAnotherOneHasIsWarned() throws Exception {
        FencedLog other = logs.open("a:1");
        try {
            assertThat(other.claim(Past.NONE)).isInstanceOf(Claimed.class);
            for (int i = 0; i < 3; i++) {
                assertThat(log.claim(Past.NONE)).isInstanceOf(ClaimReply.Held.class);
            }
        } finally {
            other.close();
        }
        assertThat(logs.events)
                .filteredOn(line -> line.contains("advertise_taken"))
                .singleElement()
                .asString()
                .startsWith(
                        "event=advertise_taken address=a:1 message=\"another lock server with this --advertise is active");
    }

    @Test
    void eventsTellWhichServerIsActiveAndOnlyWhenItChanges() throws Exception {
        FencedLog other = logs.open("b:1");
        try {
            for (int i = 0; i < 3; i++) {
                assertThat(other.claim(Past.NONE)).isInstanceOf(ClaimReply.Held.class);
            }
            log.endClaim();
            assertThat(other.claim(Past.NONE)).isInstanceOf(Claimed.class);
            redis.ask("FLUSHALL");
            for (int i = 0; i < 3; i++) {
                assertThat(log.claim(Past.NONE)).isInstanceOf(ClaimReply.Settling.class);
            }
            logs.pass(RedisLogs.SETTLE_MILLIS * 2);
            assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
        } finally {
            other.close();
        }
        assertThat(logs.events)
                .filteredOn(line -> line.contains("event=log_") || line.contains("event=standby"))
                .map(line -> line.replaceFirst(" message=\"(.{20}).*", " message=$1"))
                .containsExactly(
                        "event=log_claimed term=1 memory=loaded lost=nothing recovering_ms=0 why=STARTED",
                        "event=standby active=a:1",
                        "event=log_claimed term=2 memory=loaded lost=nothing recovering_ms=0 why=STOPPED from=a:1",
                        "event=log_settles message=the log may have los",
                        "event=log_claimed term=1 memory=loaded lost=unknown recovering_ms=10000 why=DATA_LOST message=there was no log: th");
    }

    /** Whoever takes over at a deposed primary would issue tokens above those of its successor. */
    @Test
    void aLogIsNotTakenOverWhereTooFewSentinelsConfirmThePrimary() throws Exception {
        try (RedisProcess sentinel = new RedisSetup().sentinel("main", redis, 1).start();
                FencedLog other = logs.open(
                        "redis-sentinel://127.0.0.1:" + sentinel.port() + "#main",
                        "b:1",
                        Duration.ofSeconds(2),
                        TestLibrary.log(),
                        false)) {
            logs.pass(RedisLogs.CLAIM_MILLIS);
            other.add(body("of a memory that was never stored"));
            sentinel.freeze();
            LogFailure refused = catchThrowableOfType(LogFailure.class, () -> other.claim(Past.NONE));
            assertThat(refused.line())
                    .endsWith(
                            " may not be the primary any more: too few of those that know confirm it; see that a majority of "
                                    + "them can be reached");
            sentinel.thaw();
            assertThat(other.claim(Past.NONE)).as("its own claim has ended").isInstanceOf(Claimed.class);
            assertThat(records()).isEmpty();
        }
    }

    // ---- connections

    @Test
    void aBatchThatWasStoredWithoutAReplyIsNotSentAgain() throws Exception {
        log.close();
        log = logs.open(redis.uri(), "a:1", Duration.ofMillis(200), TestLibrary.log());
        claimed = (Claimed) log.claim(past(0, 0));
        long id = log.add(body("r"));
        redis.freeze();
        assertThat(failure().kind()).isEqualTo(AppendFailure.UNKNOWN);
        redis.thaw();
        Claimed again = (Claimed) claimWithin(past(0, 1));
        assertThat(again.mine()).isTrue();
        assertThat(again.position()).isEqualTo(new Position(claimed.writer(), 1));
        assertThat(again.tokens()).isEqualTo(64);
        log.sync(64);
        assertThat(records()).isEqualTo(Map.of(id, "r"));
        assertThat(redis.ask("HKEYS", BATCHES)).as("not written again").isEqualTo("1");
    }

    @Test
    void afterABrokenConnectionTheSameBatchIsStored() throws Exception {
        long id = log.add(body("r"));
        logs.cut();
        LogFailure failure = failure(); // None if the next connection came first.
        assertThat(failure == null || failure.kind() == AppendFailure.UNKNOWN).isTrue();
        Claimed again = (Claimed) claimWithin(past(0, 1));
        assertThat(again.mine()).isTrue();
        log.sync(64);
        assertThat(records()).isEqualTo(Map.of(id, "r"));
    }

    @Test
    void aPrimaryThatWasDemotedStoresNothing() throws Exception {
        log.add(body("r"));
        redis.ask("REPLICAOF", "127.0.0.1", "1");
        assertThat(failure().kind()).isEqualTo(AppendFailure.UNKNOWN);
        assertThatThrownBy(() -> log.claim(past(0, 1)))
                .isInstanceOf(LogFailure.class)
                .hasMessageContaining("is a replica of 127.0.0.1:1");
    }

    private ClaimReply claimWithin(Past past) {
        ClaimReply[] reply = {null};
        await().atMost(Duration.ofSeconds(10)).until(() -> {
            try {
                reply[0] = log.claim(past);
                return true;
            } catch (LogFailure e) {
                return false;
            }
        });
        return reply[0];
    }

    @Test
    void aNodeOfAClusterKeepsALog() throws Exception {
        try (RedisProcess node = RedisProcess.start("cluster-enabled yes")) {
            node.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
            await().until(() -> node.ask("CLUSTER", "INFO").contains("cluster_state:ok"));
            log.close();
            log = logs.open(
                    node.uri().replace("redis://", "redis-cluster://"),
                    "a:1",
                    Duration.ofSeconds(2),
                    Library.load().code());
            assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
            assertThat(records()).isEmpty();
            Map<Long, String> written = new TreeMap<>();
            for (int i = 0; i < 300; i++) {
                written.put(log.add(body("r" + i)), "r" + i);
            }
            log.sync(64);
            assertThat(records()).isEqualTo(written);
            assertThat(node.ask("GET", TOKENS)).isEqualTo("64");
        }
    }

    /** With the shipped library: the clock of tests knows no replicas. */
    @Test
    void aTakeoverIsConfirmedByAReplicaOrWarnedOf() throws Exception {
        try (RedisProcess replica = new RedisSetup().replicaOf(redis).start()) {
            redis.ask("FUNCTION", "FLUSH");
            redis.ask("FLUSHALL");
            log.close();
            log = logs.open(
                    redis.uri(), "a:1", Duration.ofSeconds(2), Library.load().code());
            await().until(() -> replica.info("master_link_status").equals("up")
                    && redis.info("slave0").contains("state=online"));
            await().untilAsserted(
                            () -> { // A slow machine may take longer than the time that a claim waits.
                                logs.events.clear();
                                assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
                                log.endClaim();
                                assertThat(logs.events).noneMatch(event -> event.contains("no replica"));
                            });
            assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
            assertThat(replica.ask("HGET", HEAD, "address")).isEqualTo("a:1");
            log.endClaim();
            replica.freeze();
            assertThat(log.claim(Past.NONE)).isInstanceOf(Claimed.class);
            assertThat(logs.events).anyMatch(event -> event.contains("no replica of Redis"));
        }
    }
}
