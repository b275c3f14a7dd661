package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.get;
import static dev.palisade.server.store.redis.LogInRedis.CLAIM_MILLIS;
import static dev.palisade.server.store.redis.LogInRedis.SETTLE_MILLIS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.palisade.redis.RedisProcess;
import dev.palisade.server.ownership.AppendDecision;
import dev.palisade.server.ownership.AppendRequest;
import dev.palisade.server.ownership.ClaimDecision;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimReply.Claimed;
import dev.palisade.server.ownership.ClaimRequest;
import dev.palisade.server.ownership.LogRules;
import dev.palisade.server.ownership.LogState;
import dev.palisade.server.ownership.Past;
import dev.palisade.server.ownership.Position;
import dev.palisade.server.ownership.WriterId;
import dev.palisade.server.store.log.BatchSpan;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The functions of a log decide what {@link LogRules} decides, wherever a random walk goes; and functions that do not are found. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LogFunctionsTest {
    private static final int STEPS = 4_000;
    private static final long START = 1_800_000_000_000L;

    private final LogRules rules = new LogRules(CLAIM_MILLIS, SETTLE_MILLIS);
    private RedisProcess redis;

    @BeforeAll
    void start() {
        redis = RedisProcess.start();
    }

    @AfterAll
    void stop() {
        redis.close();
    }

    @Test
    void theFunctionsDecideLikeTheRulesWhereverAWalkGoes() throws Exception {
        Map<String, Integer> counts = walk(TestLibrary.log(), STEPS);
        assertThat(counts.keySet())
                .containsExactlyInAnyOrder(
                        "stored",
                        "not stored",
                        "held",
                        "settling",
                        "mine, whole",
                        "mine, lost",
                        "another's, whole",
                        "another's, lost",
                        "rewriting",
                        "flush",
                        "restore",
                        "restart",
                        "reload",
                        "promotion",
                        "tokens");
        assertThat(counts.values()).allMatch(count -> count >= 20);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "last.seq == seq and last.instance == id | last.seq == seq",
                "last and last.writer == writer and last.seq == seq | last and last.seq == seq",
                "writer ~= args[1] | false",
                "tonumber(seq) ~= tonumber(args[2]) - 1 | false",
                "tokens ~= args[3] | false",
                "(head.seq > 0 or head.whole == '1') | true",
                "and not misses(past, position_of(head)) | ",
                "(not last or same_position(last.at, found) or covers(past, last.at)) | true",
                "and (whole or past.resumes) | ",
                "one.seq <= other.seq | true",
                "if i ~= 2 and is_up_to(found, position) then | if false then",
                "or is_unconfirmed(past, found) | or same_position(found, past.unconfirmed)",
                "if age < millis then | if false then",
                "math.max(before.term, past.term) | past.term",
                "before.since <= now then | true then",
                "if ends ~= head['until'] then | if false then",
                "head and head.recovering > now and head.recovering or 0 | 0",
                "and not (wait and wait.term > 0) | ",
                "(returning and address == head.address) | false",
                "1 + math.max(head and head.term or 0, past.term) | 1 + (head and head.term or 0)",
                "args[5] == '1' and now or | false or",
            })
    void aFunctionThatDecidesOtherwiseIsFound(String right, String wrong) {
        String code = TestLibrary.log();
        assertThat(code).contains(right);
        String broken = code.replace(right, wrong == null ? "" : wrong);
        assertThat(catchThrowable(() -> walk(broken, STEPS))).isInstanceOf(AssertionError.class);
    }

    /** Whatever call of Redis fails: the batch counts as a whole or not at all, and then it can be sent again under the next claim. */
    @Test
    void anErrorAtAnyCallNeitherLosesABatchNorCountsHalfOfIt() throws Exception {
        try (LogInRedis log = new LogInRedis(redis, TestLibrary.log())) {
            int stops = 0;
            boolean dropsFailed = false;
            for (boolean failed = true; failed; stops++) {
                log.redis.ask("FLUSHALL");
                log.set(START, "a0", true, 0);
                WriterId first = writer(2L * stops + 1);
                log.claim(request(first, Past.NONE, true));
                for (int seq = 1; seq <= 3; seq++) {
                    log.append(new AppendRequest(first, seq, 0, 0, false, false), log.batches(), 1, "b" + seq);
                }
                log.set(START, "a0", false, stops + 1);
                BatchSpan before = log.batches();
                failed = LogInRedis.raised(
                        log.appending(new AppendRequest(first, 4, 0, 64, false, false), before, 3, "b4"));
                log.set(START, "a0", false, 0);
                Position at = log.state("a0").position();
                if (failed && at.seq() == 3) {
                    WriterId next = writer(2L * stops + 2);
                    Past past = new Past(1, false, at, new Position(first, 4), List.of());
                    Claimed claimed = (Claimed) log.claim(request(next, past, true));
                    assertThat(claimed.mine()).isTrue();
                    assertThat(claimed.whole()).as("error at call " + stops).isTrue();
                    assertThat(log.append(
                                    new AppendRequest(next, 1, claimed.tokens(), 64, false, false), before, 3, "b4"))
                            .isTrue();
                }
                assertThat(log.batches()).isEqualTo(new BatchSpan(3, 5, 2));
                dropsFailed |= failed && at.seq() == 4;
                if (failed && at.seq() == 4) {
                    assertThat(log.stored()).containsEntry("3", "b3").containsEntry("4", "b4");
                } else {
                    assertThat(log.stored()).isEqualTo(Map.of("3", "b3", "4", "b4"));
                }
                assertThat(log.state("a0").tokens()).isEqualTo(64);
            }
            assertThat(dropsFailed).as("an error after the head").isTrue();
            assertThat(stops).as("calls of an append").isGreaterThan(8);
        }
    }

    @Test
    void aLogThatLacksBatchesTakesNoneAndIsNotWhole() throws Exception {
        try (LogInRedis log = new LogInRedis(redis, TestLibrary.log())) {
            log.set(START, "a0", true, 0);
            log.claim(request(writer(1), Past.NONE, true));
            for (int seq = 1; seq <= 3; seq++) {
                log.append(new AppendRequest(writer(1), seq, 0, 0, false, false), log.batches(), 1, "b" + seq);
            }
            log.redis.ask("HDEL", log.keys.batches(1), "2");
            AppendRequest fourth = new AppendRequest(writer(1), 4, 0, 0, false, false);
            assertThat(get(log.appending(fourth, log.batches(), 1, "b4")))
                    .map(word -> new String((byte[]) word, StandardCharsets.UTF_8))
                    .containsExactly("not_stored", "batches of the log are gone");
            log.set(START + CLAIM_MILLIS + 1, "a0", false, 0);
            assertThat(log.claim(request(writer(2), Past.NONE, true))).isInstanceOf(ClaimReply.Settling.class);
            log.set(START + CLAIM_MILLIS + 1 + 2 * SETTLE_MILLIS, "a0", false, 0);
            Claimed claimed = (Claimed) log.claim(request(writer(3), Past.NONE, true));
            assertThat(claimed.whole()).isFalse();
            BatchSpan unread = log.batches().withCount(BatchSpan.UNKNOWN);
            assertThat(log.append(new AppendRequest(writer(3), 1, 0, 0, false, false), unread, 1, ""))
                    .as("keeps the claim while the log is read")
                    .isTrue();
            assertThat(log.batches()).isEqualTo(new BatchSpan(1, 4, 3));
            BatchSpan read = log.batches().withCount(2);
            assertThat(log.append(new AppendRequest(writer(3), 2, 0, 0, false, false), read, 1, "b4"))
                    .isTrue();
            assertThat(log.batches()).isEqualTo(new BatchSpan(1, 5, 3));
        }
    }

    @Test
    void batchesWithoutAHeadAreFound() throws Exception {
        try (LogInRedis log = new LogInRedis(redis, TestLibrary.log())) {
            log.set(START, "a0", true, 0);
            log.redis.ask("HSET", log.keys.batches(1), "7", "x", "9", "y", "other", "z");
            log.claim(request(writer(1), Past.NONE, true));
            assertThat(log.batches()).isEqualTo(new BatchSpan(7, 10, 2));
        }
    }

    @Test
    void aBatchMayBeOfAnySize() throws Exception {
        try (LogInRedis log = new LogInRedis(redis, TestLibrary.log())) {
            log.set(START, "a0", true, 0);
            log.claim(request(writer(1), Past.NONE, true));
            String large = "x".repeat(10_000_000);
            assertThat(log.append(new AppendRequest(writer(1), 1, 0, 0, false, false), log.batches(), 1, large))
                    .isTrue();
            assertThat(log.redis.ask("HSTRLEN", log.keys.batches(1), "1")).isEqualTo("10000000");
        }
    }

    @Test
    void serversOfAnEarlierReleaseSendNoKey() throws Exception {
        try (LogInRedis log = new LogInRedis(redis, TestLibrary.log())) {
            log.set(START, "a0", true, 0);
            log.claim(request(writer(1), Past.NONE, true));
            assertThat(log.keyId()).isEqualTo("1");
            assertThat(log.appendWithoutKey(new AppendRequest(writer(1), 1, 0, 0, false, false)))
                    .isTrue();
            assertThat(log.keyId()).isEqualTo("1");
            Past past =
                    new Past(1, false, new Position(writer(8), 1), Position.NONE, List.of(new Position(writer(1), 1)));
            assertThat(log.claimWithoutKey(request(writer(2), past, false)))
                    .as("the earlier position is read")
                    .isInstanceOf(ClaimReply.Settling.class);
            log.set(START + 2 * SETTLE_MILLIS, "a0", false, 0);
            assertThat(log.claimWithoutKey(request(writer(3), past, false))).isInstanceOf(Claimed.class);
            assertThat(log.keyId())
                    .as("unknown, and not that of the former owner")
                    .isEmpty();
        }
    }

    private static WriterId writer(long number) {
        return new WriterId(7, number);
    }

    private static ClaimRequest request(WriterId writer, Past past, boolean init) {
        return new ClaimRequest(writer, past, "s", "a:1", false, init, false, 10_000);
    }

    /** Counts what it came to. */
    private Map<String, Integer> walk(String code, int steps) throws Exception {
        try (LogInRedis log = new LogInRedis(redis, code)) {
            Walk walk = new Walk(log);
            for (int step = 0; step < steps; step++) {
                walk.step("step " + step);
            }
            return walk.counts;
        }
    }

    /** Claims and appends of servers that remember some of what the log went through, and a log that loses some of it. */
    private final class Walk {
        private final Random random = new Random(42);
        private final LogInRedis log;
        private final Map<String, Integer> counts = new TreeMap<>();
        private final List<Position> known = new ArrayList<>();
        private LogState state = new LogState(null, 0, "a0", null, null);
        private long now = START;
        private int instances;
        private long writers;
        private List<String> image = List.of("", "nil");
        private LogState imaged = state;

        Walk(LogInRedis log) {
            this.log = log;
            known.add(Position.NONE);
        }

        void step(String at) throws Exception {
            now += random.nextInt(10) == 0 ? random.nextInt(8_000) - 4_000 : random.nextInt(400);
            int event = random.nextInt(100);
            if (event < 2) {
                flush();
            } else if (event < 6) {
                remember();
            } else if (event < 8) {
                restore();
            } else if (event < 10) {
                instance("restart", true);
            } else if (event < 12) {
                instance("promotion", false);
            } else if (event < 14) {
                count("reload");
                log.set(now, state.instance(), true, 0);
                state = new LogState(state.head(), state.tokens(), state.instance(), null, null);
            } else if (event < 15) {
                count("tokens");
                log.redis.ask("INCRBY", log.keys.tokens(), "1");
                state = new LogState(
                        state.head(), state.tokens() + 1, state.instance(), state.seen(), state.settling());
            } else if (event < 55) {
                claim(at);
            } else {
                append(at);
            }
            assertThat(log.state(state.instance())).as("log after %s", at).isEqualTo(state);
            if (!known.get(known.size() - 1).equals(state.position())) {
                known.add(state.position());
            }
        }

        private void count(String what) {
            counts.merge(what, 1, Integer::sum);
        }

        private void flush() {
            count("flush");
            log.flush();
            state = new LogState(null, 0, state.instance(), state.seen(), state.settling());
        }

        private void remember() {
            image = log.image();
            imaged = state;
        }

        private void restore() {
            count("restore");
            log.restore(image);
            state = new LogState(imaged.head(), imaged.tokens(), state.instance(), state.seen(), state.settling());
        }

        private void instance(String what, boolean forgets) {
            count(what);
            String next = "a" + ++instances;
            log.set(now, next, forgets, 0);
            state = new LogState(
                    state.head(),
                    state.tokens(),
                    next,
                    forgets ? null : state.seen(),
                    forgets ? null : state.settling());
        }

        private Position position() {
            Position one = random.nextBoolean()
                    ? known.get(Math.max(0, known.size() - 1 - random.nextInt(4)))
                    : known.get(random.nextInt(known.size()));
            return one.seq() > 1 && random.nextInt(4) == 0
                    ? new Position(one.writer(), one.seq() + random.nextInt(3) - 1)
                    : one;
        }

        private Past past() {
            if (random.nextInt(3) == 0) {
                return Past.NONE;
            }
            long term = state.head() == null ? 1 : state.head().term();
            List<Position> earlier = new ArrayList<>();
            for (int i = random.nextInt(4); i > 0; i--) {
                earlier.add(position());
            }
            if (state.position().seq() > 1 && random.nextInt(4) == 0) {
                Position at = state.position(); // Some of the batches in flight are stored.
                return new Past(
                        term,
                        random.nextBoolean(),
                        random.nextBoolean() ? new Position(at.writer(), at.seq() - 1) : position(),
                        new Position(at.writer(), at.seq() + random.nextInt(2)),
                        earlier);
            }
            return new Past(
                    Math.max(1, term - random.nextInt(4) + 1),
                    random.nextBoolean(),
                    random.nextInt(3) == 0 ? state.position() : position(),
                    random.nextBoolean() ? Position.NONE : position(),
                    earlier);
        }

        private void claim(String at) throws Exception {
            log.set(now, state.instance(), false, 0);
            ClaimRequest request = new ClaimRequest(
                    writer(++writers),
                    past(),
                    "server " + random.nextInt(3),
                    "host:" + random.nextInt(2),
                    random.nextInt(4) == 0,
                    random.nextBoolean(),
                    random.nextInt(8) == 0,
                    10_000);
            ClaimDecision expected = rules.claim(state, request, now);
            assertThat(log.claim(request))
                    .as("%s at %d: %s to %s", at, now, request, state)
                    .isEqualTo(expected.reply());
            state = expected.next();
            count(kind(expected));
            if (state.head() != null && state.head().rewriting() != 0) {
                count("rewriting");
            }
        }

        private String kind(ClaimDecision decision) {
            if (decision.reply() instanceof Claimed claimed) {
                return (claimed.mine() ? "mine, " : "another's, ") + (claimed.whole() ? "whole" : "lost");
            }
            return decision.reply() instanceof ClaimReply.Held ? "held" : "settling";
        }

        private void append(String at) throws Exception {
            log.set(now, state.instance(), false, 0);
            LogState.Head head = state.head();
            boolean right = random.nextInt(8) != 0;
            WriterId writer = head == null || (!right && random.nextBoolean())
                    ? writer(1 + random.nextInt((int) writers + 1))
                    : head.writer();
            long seq = (head == null ? 0 : head.seq()) + 1;
            long tokens = state.tokens();
            AppendRequest request = new AppendRequest(
                    writer,
                    right ? seq : Math.max(1, seq + random.nextInt(3) - 1),
                    right ? tokens : tokens + random.nextInt(2),
                    tokens + 32L * random.nextInt(3),
                    random.nextInt(10) == 0,
                    random.nextInt(6) == 0);
            AppendDecision expected = rules.append(state, request, now);
            // No generation is written here, so the head that names one lacks its batches.
            BatchSpan before = head == null ? BatchSpan.NONE : log.batches().withCount(BatchSpan.UNKNOWN);
            assertThat(log.append(request, before, before.first(), at))
                    .as("%s at %d: %s to %s", at, now, request, state)
                    .isEqualTo(expected.stored());
            String found = log.redis.ask("HGET", log.keys.batches(1), Long.toString(before.next()));
            assertThat(found.equals(at))
                    .as("batch of %s", at)
                    .isEqualTo(expected.stored()
                            && !(request.switches()
                                    && head != null
                                    && head.generation() == 1)); // Gone with its generation.
            state = expected.next();
            count(expected.stored() ? "stored" : "not stored");
        }
    }
}
