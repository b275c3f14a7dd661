package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.Granted.refused;
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
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.LockService;
import dev.palisade.guard.LockService.RefusedCalls;
import dev.palisade.guard.Mark;
import dev.palisade.guard.RefusalReports;
import dev.palisade.redis.TestRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** What {@link FencedRedis} promises, on a real Redis. */
class FencedRedisTest {
    private static final RedisClient CLIENT = RedisClient.create(TestRedis.get().uri());
    private static final StatefulRedisConnection<String, String> CONNECTION = CLIENT.connect();

    private final String resource = TestRedis.get().newPrefix() + "/orders/42";
    private final String data = "{" + resource + "}";
    private final String markKey = "palisade:fence:" + data;
    private final Binding order = Binding.of(resource);
    private final Granted grants = new Granted(resource);
    private final FencedRedis fenced = FencedRedis.create(CONNECTION, grants.verifier());

    @AfterAll
    static void disconnect() {
        CLIENT.shutdown(0, 0, TimeUnit.SECONDS);
    }

    @Test
    void lowerTokenIsRefusedAndChangesNothing() {
        write(34, "340");
        Rejection rejection = refused(() -> write(33, "330"), Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.MARK_GRANT, new GrantId(7, 34).toString())
                .containsEntry(Rejection.RESOURCE, resource)
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(value()).isEqualTo("340");
        assertThat(fenced.mark(resource)).isEqualTo(new Mark(34, new GrantId(7, 34), 0));
    }

    @Test
    void refusalsAreReportedToTheLockService() throws Exception {
        CompletableFuture<RefusedCalls> reported = new CompletableFuture<>();
        LockService service = (LockService) Proxy.newProxyInstance(
                LockService.class.getClassLoader(), new Class<?>[] {LockService.class}, (proxy, method, arguments) -> {
                    reported.complete((RefusedCalls) ((List<?>) arguments[1]).get(0));
                    return CompletableFuture.completedFuture(true);
                });
        try (RefusalReports reports = RefusalReports.to(service, "a test")) {
            FencedRedis reporting = fenced.withReports(reports);
            reporting.claim(grants.exclusive(34), order);
            refused(() -> reporting.claim(grants.exclusive(33), order), Reason.TOKEN_STALE);
            RefusedCalls stale = reported.get(60, TimeUnit.SECONDS);
            assertThat(stale.resource()).isEqualTo(resource);
            assertThat(stale.presentedToken()).isEqualTo(33);
            assertThat(stale.markToken()).hasValue(34);
        }
    }

    @Test
    void refusalTellsWhenRedisFirstSawTheNewerToken() {
        write(32, "320");
        long before = now();
        write(34, "340");
        assertThat(supersededAt(() -> write(33, "330"))).isBetween(before, now());
        // A moment that no clock shows: whatever writes it again is found.
        CONNECTION.sync().hset(markKey, "xt", "34000");
        write(34, "341");
        fenced.read(grants.exclusive(34), order, CommandList.of("GET", data));
        assertThat(supersededAt(() -> write(33, "330"))).isEqualTo(34_000);
        fenced.claim(grants.shared(36), order);
        CONNECTION.sync().hset(markKey, "st", "36000");
        fenced.claim(grants.shared(36), order);
        assertThat(supersededAt(() -> write(35, "350"))).isEqualTo(36_000);
        assertThat(supersededAt(() -> fenced.claim(grants.shared(33), order))).isEqualTo(34_000);
    }

    private static long now() {
        List<String> time = CONNECTION.sync().time();
        return Long.parseLong(time.get(0)) * 1_000 + Long.parseLong(time.get(1)) / 1_000;
    }

    private static long supersededAt(ThrowingCallable call) {
        return Long.parseLong(
                refused(call, Reason.TOKEN_STALE).metadata().getOrDefault(Rejection.SUPERSEDED_AT_MILLIS, "-1"));
    }

    @Test
    void holderWritesAsOftenAsItLikes() {
        for (int i = 0; i < 20; i++) {
            write(34, Integer.toString(i));
        }
        assertThat(value()).isEqualTo("19");
    }

    @Test
    void anotherGrantWithTheSameTokenIsRefused() {
        write(34, "340");
        SignedSequencer twin = grants.sign(Mode.EXCLUSIVE, 34, 999);
        refused(() -> fenced.write(twin, order, CommandList.of("SET", data, "1")), Reason.TOKEN_STALE);
        assertThat(value()).isEqualTo("340");
    }

    @Test
    void readRaisesTheMarkToo() {
        write(33, "330");
        assertThat(fenced.read(grants.exclusive(34), order, CommandList.of("GET", data))
                        .get(0)
                        .text())
                .isEqualTo("330");
        refused(() -> write(33, "331"), Reason.TOKEN_STALE);
    }

    @Test
    void claimRaisesTheMarkAlone() {
        write(33, "330");
        assertThat(fenced.claim(grants.exclusive(34), order)).isEqualTo(new Mark(34, new GrantId(7, 34), 0));
        refused(() -> write(33, "331"), Reason.TOKEN_STALE);
        assertThat(value()).isEqualTo("330");
    }

    @Test
    void sharedReadersShutOlderWritersOut() {
        write(3, "30");
        CommandList get = CommandList.of("GET", data);
        fenced.read(grants.shared(5), order, get);
        assertThat(fenced.read(grants.shared(4), order, get).get(0).text()).isEqualTo("30");
        refused(() -> write(4, "40"), Reason.TOKEN_STALE);
        refused(() -> write(5, "50"), Reason.TOKEN_STALE);
        write(6, "60");
        refused(() -> fenced.read(grants.shared(5), order, get), Reason.TOKEN_STALE);
        assertThat(fenced.mark(resource)).isEqualTo(new Mark(6, new GrantId(7, 6), 5));
    }

    @Test
    void noSequencerMovesAMarkUnlessItIsGenuineAndOfThisLock() {
        write(34, "340");
        Mark before = fenced.mark(resource);
        long max = FencingToken.MAX;
        SignedSequencer forged =
                SequencerKeys.generate().sign(Granted.sequencer(Granted.ISSUER, resource, Mode.EXCLUSIVE, max, 1));
        SignedSequencer foreign = grants.sign(Granted.sequencer("staging", resource, Mode.EXCLUSIVE, max, 1));
        SignedSequencer otherGroup = grants.sign(Granted.sequencer(Granted.ISSUER, resource, Mode.EXCLUSIVE, max, 1)
                .forAudience("reports"));
        SignedSequencer otherLock = grants.sign(Granted.sequencer(Granted.ISSUER, "o/43", Mode.EXCLUSIVE, max, 1));
        CommandList set = CommandList.of("SET", data, "1");
        refused(() -> fenced.write(forged, order, set), Reason.SEQUENCER_INVALID);
        refused(() -> fenced.write(foreign, order, set), Reason.SEQUENCER_INVALID);
        refused(() -> fenced.write(otherGroup, order, set), Reason.SEQUENCER_INVALID);
        refused(() -> fenced.write(otherLock, order, set), Reason.WRONG_RESOURCE);
        refused(() -> fenced.write(grants.shared(max), order, set), Reason.MODE_NOT_ALLOWED);
        refused(() -> fenced.write(grants.shared(max), order, "return 1", List.of()), Reason.MODE_NOT_ALLOWED);
        refused(() -> fenced.claim(forged, order), Reason.SEQUENCER_INVALID);
        assertThat(fenced.mark(resource)).isEqualTo(before);
        assertThat(value()).isEqualTo("340");
    }

    @Test
    void largestTokenIsComparedExactly() {
        write(FencingToken.MAX - 1, "1");
        write(FencingToken.MAX, "2");
        refused(() -> write(FencingToken.MAX - 1, "3"), Reason.TOKEN_STALE);
        assertThat(fenced.mark(resource).exclusiveToken()).isEqualTo(FencingToken.MAX);
    }

    @Test
    void resourceMayBeCalledOtherwiseThanItsLock() {
        Binding row = new Binding(resource + "/row", new LockName(resource));
        fenced.write(grants.exclusive(34), row, CommandList.of("SET", "{" + resource + "/row}", 1));
        assertThat(fenced.mark(resource + "/row").exclusiveToken()).isEqualTo(34);
        assertThat(fenced.mark(resource)).isEqualTo(Mark.NONE);
    }

    @Test
    void repliesComeBackInOrderAndInTheirTypes() {
        byte[] binary = {0, (byte) 0xff, 13, 10};
        List<RedisReply> replies = fenced.write(
                grants.exclusive(34),
                order,
                CommandList.of("SET", data + ":bytes", binary)
                        .then("HSET", data + ":hash", "status", "paid", "total", 12)
                        .then("get", data + ":bytes")
                        .then("HGETALL", data + ":hash")
                        .then("GET", data + ":none")
                        .then("HINCRBY", data + ":hash", "total", 30L)
                        .then("MGET", data + ":bytes", data + ":none"));
        assertThat(replies.get(0).text()).isEqualTo("OK");
        assertThat(replies.get(1).number()).isEqualTo(2);
        assertThat(replies.get(2).bytes()).isEqualTo(binary);
        assertThat(replies.get(3)).hasToString("[status, paid, total, 12]");
        assertThat(replies.get(4).isNil()).isTrue();
        assertThat(replies.get(5).number()).isEqualTo(42);
        assertThat(replies.get(6).list().get(1).isNil()).isTrue();
        assertThatThrownBy(() -> replies.get(5).text())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the reply is not a string: 42");
        assertThatThrownBy(() -> replies.get(4).number()).hasMessage("the reply is not an integer: nil");
        assertThatThrownBy(() -> replies.get(4).list()).hasMessage("the reply is not a list: nil");
    }

    @Test
    void connectionWithAnotherCodecWillDo() {
        try (StatefulRedisConnection<byte[], byte[]> other = CLIENT.connect(ByteArrayCodec.INSTANCE)) {
            FencedRedis.create(other, grants.verifier())
                    .write(grants.exclusive(34), order, CommandList.of("SET", data, "ä"));
        }
        assertThat(value()).isEqualTo("ä");
        assertThat(CONNECTION.sync().get(data).getBytes(StandardCharsets.UTF_8)).hasSize(2);
    }

    @Test
    void laterCommandThatFailsIsNamedWithWhatWasApplied() {
        Rejection rejection = refused(
                () -> fenced.write(
                        grants.exclusive(34),
                        order,
                        CommandList.of("SET", data, "not a number")
                                .then("INCR", data)
                                .then("RPUSH", data + ":log", "paid")),
                Reason.OUTCOME_UNKNOWN);
        assertThat(rejection.message())
                .startsWith("command 2 of 3 on '" + resource + "' failed (ERR value is not an integer")
                .contains("command 1 was applied and Redis does not roll back, the rest did not run");
        assertThat(rejection.metadata())
                .containsEntry(FencedRedis.COMMANDS_APPLIED, "1")
                .containsEntry(Rejection.APPLIED, "unknown");
        assertThat(value()).isEqualTo("not a number");
        assertThat(CONNECTION.sync().exists(data + ":log")).isZero();
        assertThat(fenced.mark(resource).exclusiveToken()).isEqualTo(34);
    }

    @Test
    void firstCommandThatFailsLeavesTheMarkRaisedAlone() {
        CONNECTION.sync().set(data, "not a number");
        assertThatThrownBy(() -> fenced.write(
                        grants.exclusive(34),
                        order,
                        CommandList.of("INCR", data).then("SET", data, "1")))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessage("ERR value is not an integer or out of range (command 1 of 2 on '" + resource
                        + "'; nothing was applied, the mark stays raised)");
        assertThat(value()).isEqualTo("not a number");
        assertThat(fenced.mark(resource).exclusiveToken()).isEqualTo(34);
    }

    @Test
    void keyOfAnotherTypeIsFoundBeforeAnythingIsWritten() {
        CONNECTION.sync().rpush(data + ":log", "first");
        assertThatThrownBy(() -> fenced.write(
                        grants.exclusive(34),
                        order,
                        CommandList.of("SET", data, "1").then("HSET", data + ":log", "a", "b")))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessage("WRONGTYPE key '" + data + ":log' is a list, not a hash (command 2 of 2 on '" + resource
                        + "'; nothing was applied, the mark is as before)");
        assertThat(value()).isNull();
        assertThat(fenced.mark(resource)).isEqualTo(Mark.NONE);
        // What an earlier command makes of a key is not guessed.
        fenced.write(
                grants.exclusive(34),
                order,
                CommandList.of("DEL", data + ":log").then("HSET", data + ":log", "a", "b"));
        assertThat(CONNECTION.sync().hgetall(data + ":log")).isEqualTo(Map.of("a", "b"));
    }

    @Test
    void scriptRunsInTheSameStep() {
        String take = """
                local left = tonumber(redis.call('GET', KEYS[1])) -- whatever is übrig
                if left < tonumber(ARGV[1]) then return false end
                return redis.call('DECRBY', KEYS[1], ARGV[1])
                """;
        write(34, "10");
        assertThat(fenced.write(grants.exclusive(34), order, take, List.of(data), 7)
                        .number())
                .isEqualTo(3);
        assertThat(fenced.write(grants.exclusive(34), order, take, List.of(data), 7)
                        .isNil())
                .isTrue();
        refused(() -> fenced.write(grants.exclusive(33), order, take, List.of(data), 1), Reason.TOKEN_STALE);
        assertThat(value()).isEqualTo("3");
        CONNECTION.sync().scriptFlush();
        assertThat(fenced.write(grants.exclusive(34), order, take, List.of(data), 1)
                        .number())
                .as("with a Redis that has forgotten it")
                .isEqualTo(2);
        assertThat(fenced.write(grants.exclusive(34), order, "", List.of()).isNil())
                .isTrue();
    }

    @Test
    void fullListRunsInOneCall() {
        Object[] members = new Object[CommandList.WORDS_MAX - 4];
        for (int i = 0; i < members.length; i++) {
            members[i] = i;
        }
        Object[] arguments =
                Stream.concat(Stream.of(data), Arrays.stream(members)).toArray();
        List<RedisReply> replies = fenced.write(
                grants.exclusive(34), order, CommandList.of("SADD", arguments).then("SCARD", data));
        assertThat(replies.get(1).number()).isEqualTo(members.length);
        assertThat(fenced.write(
                                grants.exclusive(34),
                                order,
                                "return redis.call('SREM', KEYS[1], unpack(ARGV))",
                                List.of(data),
                                members)
                        .number())
                .isEqualTo(members.length);
    }

    @Test
    void scriptThatFailsIsOutcomeUnknown() {
        for (String end :
                List.of("redis.call('LPUSH', KEYS[1], 1)", "error('no')", "return redis.error_reply('NO')", "nope()")) {
            String script = "redis.call('SET', KEYS[1], 'half')\n" + end;
            Rejection rejection = refused(
                    () -> fenced.write(grants.exclusive(34), order, script, List.of(data)), Reason.OUTCOME_UNKNOWN);
            assertThat(rejection.message()).contains("what it wrote before stays applied");
            assertThat(value()).isEqualTo("half");
        }
        assertThatThrownBy(() -> fenced.write(grants.exclusive(35), order, "return +", List.of()))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("nothing was applied, the mark is as before");
        assertThat(fenced.mark(resource).exclusiveToken()).isEqualTo(34);
    }

    @Test
    void markThatIsNoneIsRefused() {
        String grant = new GrantId(7, 3).toString();
        CONNECTION.sync().set(markKey, "text");
        refused(() -> write(34, "1"), Reason.MARK_UNAVAILABLE);
        refused(() -> fenced.mark(resource), Reason.MARK_UNAVAILABLE);
        CONNECTION.sync().del(markKey);
        for (Map<String, String> fields : List.of(
                Map.of("x", "many", "g", grant),
                Map.of("x", "1e3", "g", grant),
                Map.of("x", "9007199254740992", "g", grant),
                Map.of("x", "3", "g", "aa"),
                Map.of("x", "3"),
                Map.of("x", "3", "g", grant, "xt", "-1"),
                Map.of("s", "3", "g", grant),
                Map.of("s", "-"),
                Map.of("s", "nan"))) {
            CONNECTION.sync().del(markKey);
            CONNECTION.sync().hset(markKey, fields);
            refused(() -> write(34, "1"), Reason.MARK_UNAVAILABLE);
        }
        assertThat(value()).isNull();
    }

    @Test
    void scriptJudgesAsTheMarkDoes() {
        Random random = new Random(1);
        Mark mark = Mark.NONE;
        int admitted = 0;
        for (int step = 0; step < 300; step++) {
            long token = 1L + random.nextInt(6) + step / 6;
            Mode mode = random.nextInt(3) == 0 ? Mode.SHARED : Mode.EXCLUSIVE;
            long grant = random.nextInt(6) == 0 ? token + 1_000 : token;
            Access access = mode == Mode.SHARED || random.nextBoolean() ? Access.READ : Access.WRITE;
            SignedSequencer signed = grants.sign(mode, token, grant);
            Sequencer sequencer = grants.verifier().verify(signed);
            Optional<Rejection> told = Optional.empty();
            try {
                if (access == Access.WRITE) {
                    fenced.write(signed, order, CommandList.of("SET", data, step));
                } else {
                    fenced.read(signed, order, CommandList.of("GET", data));
                }
                admitted++;
            } catch (RejectedException e) {
                told = Optional.of(e.rejection());
            }
            long when = Long.parseLong(told.map(Rejection::metadata)
                    .map(metadata -> metadata.get(Rejection.SUPERSEDED_AT_MILLIS))
                    .orElse("0"));
            assertThat(told)
                    .as("step %d on %s", step, mark)
                    .isEqualTo(mark.refusal(resource, sequencer, access, when, when));
            if (told.isEmpty()) {
                mark = raised(mark, sequencer);
            }
            assertThat(fenced.mark(resource)).as("step %d", step).isEqualTo(mark);
        }
        assertThat(admitted).as("both verdicts were met").isBetween(50, 250);
    }

    private static Mark raised(Mark mark, Sequencer admitted) {
        long token = admitted.token().value();
        return admitted.mode() == Mode.SHARED
                ? new Mark(mark.exclusiveToken(), mark.exclusiveGrant(), Math.max(mark.sharedToken(), token))
                : new Mark(token, admitted.grant(), mark.sharedToken());
    }

    @Test
    void callsAreCountedAndRefusalsLogged() {
        List<String> lines = new ArrayList<>();
        FencedRedis counted = FencedRedis.create(
                new FenceConnection(CONNECTION, FencedRedis.TIMEOUT_DEFAULT), grants.verifier(), lines::add);
        FencedRedis copy = counted.withTimeout(Duration.ofSeconds(1));
        counted.write(grants.exclusive(34), order, CommandList.of("SET", data, "text"));
        copy.claim(grants.exclusive(34), order);
        assertThat(lines).as("what is admitted is not logged").isEmpty();
        refused(() -> copy.claim(grants.exclusive(33), order), Reason.TOKEN_STALE);
        refused(() -> copy.claim(new Granted(resource).exclusive(35), order), Reason.SEQUENCER_INVALID);
        assertThat(lines)
                .first()
                .asString()
                .startsWith("event=refused reason=TOKEN_STALE lock=" + resource + " resource=" + resource
                        + " presented_token=33 mark_token=34 mark_grant=")
                .contains(" superseded_at_millis=");
        refused(() -> counted.withoutEvents().claim(grants.exclusive(33), order), Reason.TOKEN_STALE);
        assertThat(lines).hasSize(2);
        assertThat(counted.stats().admitted()).isEqualTo(2);
        assertThat(counted.stats().refused()).isEqualTo(Map.of(Reason.TOKEN_STALE, 1L, Reason.SEQUENCER_INVALID, 1L));
        assertThat(counted.stats().waiting()).isZero();
        assertThat(copy.stats()).isEqualTo(counted.stats());
        for (Duration bad : List.of(Duration.ZERO, Duration.ofHours(2))) {
            assertThatThrownBy(() -> counted.withTimeout(bad)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    private void write(long token, String value) {
        fenced.write(grants.exclusive(token), order, CommandList.of("SET", data, value));
    }

    private String value() {
        return CONNECTION.sync().get(data);
    }
}
