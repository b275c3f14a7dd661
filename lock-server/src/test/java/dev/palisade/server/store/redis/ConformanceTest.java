package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.redis.TestRedis;
import dev.palisade.server.core.Coverage;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Trace;
import dev.palisade.server.core.Waiter;
import dev.palisade.server.core.Walk;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The functions in Redis decide what the lock machine decides: in every trace, and in walks that reach everything there is. And a
 * function that does not is found. Further: {@code -Dpalisade.conformance.walks=80}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConformanceTest {
    private static final Path TRACES = Path.of("src/test/resources/traces");
    private static final int WALKS = Integer.getInteger("palisade.conformance.walks", 20);
    private static final int STEPS = 250;
    /** How often so many walks reach everything at least. */
    private static final int FLOOR = Math.max(1, WALKS / 16);

    private static final int RENEWED_TOGETHER_MIN = WALKS / 2;

    private final String library = "t" + UUID.randomUUID().toString().replace("-", "");
    private final TestRedis redis = TestRedis.get();
    private final RedisClient client = RedisClient.create(redis.uri());

    @BeforeAll
    void load() {
        try (FunctionMachine machine = machine()) {
            machine.load(TestLibrary.code(library));
        }
    }

    @AfterAll
    void unload() {
        try (FunctionMachine machine = machine()) {
            machine.unload();
        }
        client.shutdown(0, 1, TimeUnit.SECONDS);
    }

    private FunctionMachine machine() {
        return new FunctionMachine(client, library, redis.newPrefix());
    }

    static Stream<String> traces() throws IOException {
        try (Stream<Path> files = Files.list(TRACES)) {
            List<String> names = files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".txt"))
                    .sorted()
                    .toList();
            return names.stream();
        }
    }

    @ParameterizedTest
    @MethodSource("traces")
    void theFunctionsDoWhatTheTraceSays(String name) throws IOException {
        String expected = Files.readString(TRACES.resolve(name), StandardCharsets.UTF_8);
        try (FunctionMachine machine = machine()) {
            assertThat(new Trace(machine).run(expected)).as(name).isEqualTo(expected);
        }
    }

    @Test
    void theFunctionsDecideLikeTheMachineWhereverAWalkGoes() {
        Coverage coverage = new Coverage();
        int renewedTogether = 0;
        for (int seed = 0; seed < WALKS; seed++) {
            try (FunctionMachine machine = machine()) {
                new Walk(seed, machine, coverage).run(STEPS);
                renewedTogether += machine.renewedTogether();
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
        coverage.requireAll(FLOOR);
        assertThat(renewedTogether).as("renewals that need nothing else").isGreaterThan(RENEWED_TOGETHER_MIN);
    }

    @Test
    void aClockThatIsSetBackMakesNobodyWaitLongerForHoldersThanWasMeant() {
        Domain domain = new Domain(redis.newPrefix(), 7);
        try (FunctionMachine machine = machine()) {
            List<byte[]> keys = List.of(domain.token, domain.epochKey);
            long now = 1_800_000_000_000L;
            assertThat(machine.recoversUntil(keys, now, 5_000)).isEqualTo(now + 5_000);
            assertThat(machine.recoversUntil(keys, now + 1_000, 5_000)).isEqualTo(now + 5_000);
            long back = now - 3_600_000;
            assertThat(machine.recoversUntil(keys, back, 5_000)).isEqualTo(back + 5_000);
            assertThat(machine.recoversUntil(keys, back + 4_000, 5_000)).isEqualTo(back + 5_000);
        }
    }

    /** From the tokens of its history a guard learns who else had its name. */
    @Test
    void aForgottenLockKeepsItsNewestTokenBehindAnyNumberOfWaiters() {
        StringBuilder trace = new StringBuilder("> 0 acquire a1 atleast=5000\n> 100 release a1\n");
        for (int i = 1; i <= 10; i++) {
            trace.append("> 200 acquire b")
                    .append(i)
                    .append(" wait=1000\n> 200 leave b")
                    .append(i)
                    .append('\n');
        }
        trace.append("> 100000 expire\n");
        try (FunctionMachine machine = machine()) {
            var unused = new Trace(machine).run(trace.toString());
            assertThat(machine.history(new LockName("trace")))
                    .extracting(HistoryEntry::token)
                    .containsExactly(1L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L);
            assertThat(machine.history(new LockName("trace")))
                    .as("of what came before the grant, and between it and the eight newest, some is gone")
                    .extracting(HistoryEntry::isAfterGap)
                    .containsExactly(true, true, false, false, false, false, false, false, false);
        }
    }

    @Test
    void shortHistoriesOfForgottenLocksHaveNoGap() {
        String trace = """
                > 0 acquire a1
                > 100 release a1
                > 100000 expire
                > 200000 acquire b1
                > 200001 forcerelease
                > 300000 expire
                > 400000 acquire c1
                """;
        try (FunctionMachine machine = machine()) {
            var unused = new Trace(machine).run(trace);
            assertThat(machine.history(new LockName("trace"))).hasSize(5).noneMatch(HistoryEntry::isAfterGap);
        }
    }

    /** Nobody lost time while Redis was away; also who waits, whose record is read only when it is needed. */
    @Test
    void withANewEpochEveryTimeIsFullFromItsStart() {
        long start = 1_800_000_000_000L;
        Request held = request(1, Mode.SHARED, 3_000);
        Request offered = request(2, Mode.SHARED, 4_000);
        LockState before = new LockState(
                new LockName("a"),
                List.of(new Grant(held, new FencingToken(1), start - 9_000, start - 6_000)),
                List.of(new Offer(waiter(offered, start - 8_000), new FencingToken(2), start - 5_000)),
                List.of(
                        waiter(request(3, Mode.EXCLUSIVE, 5_000), start - 7_000),
                        waiter(request(4, Mode.SHARED, 6_000), start - 7_000)),
                Tombstones.NONE,
                start - 9_000 + 60_000,
                start - 9_000 + 90_000,
                0);
        try (FunctionMachine machine = machine()) {
            assertThat(machine.restarted(before, start)).isEqualTo(before.restarted(start));
        }
    }

    private static Request request(long number, Mode mode, long ttlMillis) {
        return new Request(
                new RequestId(new SessionId(1, 1), number), 1, new GrantId(1, number), mode, ttlMillis, 0, 0, "me", "");
    }

    /** It was last heard of so long ago that it would be dropped. */
    private static Waiter waiter(Request asked, long heardMillis) {
        return new Waiter(asked, heardMillis, Long.MAX_VALUE, heardMillis + 1, Waiter.Lapse.NONE);
    }

    /** A function cannot take back what it wrote before an error: so each is stopped at each of its calls, in each situation of a walk. */
    @Test
    void anErrorAtAnyCallLeavesALockAsItWasOrAsItShallBe() {
        int stopped = 0;
        for (int seed = 0; seed < Math.max(4, WALKS / 8); seed++) {
            try (FunctionMachine machine = machine()) {
                machine.stopAtEachCall();
                new Walk(seed, machine, new Coverage()).run(60);
                stopped += machine.stops();
            }
        }
        assertThat(stopped).as("errors").isGreaterThan(WALKS * 25);
    }

    /** Each breaks one rule. A walk that cannot tell the difference proves nothing. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            an expired lease still holds        | if grant[UNTIL] <= step.now then                 | if grant[UNTIL] < step.now then
            a clock set back is not seen        | elseif grant[UNTIL] - step.now > grant[TTL] then | elseif false then
            offers that lapse together turn     | for i = #offers, 1, -1 do                        | for i = 1, #offers do
            a lapsed waiter is dropped at once  | if waiter[LAPSE] == LAPSE_NONE then              | if false then
            a lapsed waiter goes first again    | waiter[LAPSE] = STEPS_BACK                       | waiter[LAPSE] = LAST_CHANCE
            the queue is a stack                | put_into_queue(step, waiter, false)              | put_into_queue(step, waiter, true)
            a waiter's change is not kept       | before[LAPSE] = LAST_CHANCE\\n        keep_waiter(step, before) | before[LAPSE] = LAST_CHANCE
            offers beside holders are lost      | for i = 1, offers do                             | for i = 1, holders > 0 and 0 or offers do
            ends never grow old                 | if not too_many and ring.first_at                | if not too_many or ring.first_at
            failed tries displace other ends    | how == 'BUSY' and TRIES or ENDS                  | ENDS
            a broken stream releases            | gen == BY_CLIENT and 'RELEASED' or 'ABANDONED'   | 'RELEASED'
            an abandoned lease has no cause     | end_grant(step, held, 'ABANDONED', args[5])      | end_grant(step, held, 'ABANDONED')
            readers join writers                | if grant[MODE] == EXCLUSIVE then\\n      return false | if grant[MODE] == EXCLUSIVE then\\n      return true
            no lock-delay                       | step.lock.delay_until = math.max(step.lock.delay_until, delay_until) | step.lock.delay_until = step.lock.delay_until
            no minimum hold                     | if grant[AT_LEAST] > 0 and grant[MODE]           | if false and grant[MODE]
            readers have a minimum hold         | if grant[AT_LEAST] > 0 and grant[MODE] == EXCLUSIVE then | if grant[AT_LEAST] > 0 then
            the end of a hold wakes nobody      | #lock.offers == 0 and closed_until(lock) or      | false or
            a minimum hold from the lease's end | grant[SINCE] + grant[AT_LEAST]                   | grant[UNTIL] + grant[AT_LEAST]
            a waiter's minimum hold is lost     | step.settings.home, waiter[WAITER_AT_LEAST],     | step.settings.home, 0,
            a forced release keeps the hold     | if lock.hold_until > step.now and (token == 0    | if false and (token == 0
            any forced release opens the lock   | and (token == 0 or released > 0) then            | then
            a forced release opens a lock-delay | lock.hold_until, lock.changed = 0, true          | lock.hold_until, lock.delay_until, lock.changed = 0, 0, true
            a repetition may hold for longer    | return at_least ~= at_least_of(args[14]) or first | return first
            nothing new while closed is ignored | step.now >= closed_until(lock) and tokens_left   | tokens_left
            a token is given twice              | step.minted = step.minted + TOKENS_PER_GRANT     | step.minted = TOKENS_PER_GRANT
            a turn's token is another grant's   | step.minted = step.minted + TOKENS_PER_GRANT     | step.minted = step.minted + 1
            a later turn's token names nobody   | token >= held[TOKEN] and token < held[TOKEN] + TOKENS_PER_GRANT | held[TOKEN] == token
            any session may renew               | if not held or session_of(held) ~= session then  | if not held then
            any token renews                    | if held[TOKEN] ~= token then\\n    return nil, refuse_other_token(verb | if false then\\n    return nil, refuse_other_token(verb
            an old stream ends a newer one's    | if not held or held[GEN] > tonumber(args[4]) then | if not held then
            ends are forgotten early            | local TOMBSTONES_MAX = 256                       | local TOMBSTONES_MAX = 255
            an early end leaves no mark         | lock.forgotten = math.max(lock.forgotten, ended_at) | lock.forgotten = lock.forgotten
            a release frees, an expiry too      | local CLOSES = { EXPIRED = true, ABANDONED       | local CLOSES = { ABANDONED
            waiters never die                   | elseif waiter[ALIVE_UNTIL] <= step.now then      | elseif false then
            waiters wait for ever               | if waiter[WAIT_UNTIL] <= step.now then           | if false then
            a poll accepts                      | return { 'Promised', offer }                     | accepted(step, offer) return { 'Promised', offer }
            recovery grants                     | if free and not full and not recovering(step) then | if free and not full then
            the lower token wins                | if conflicts(mode, held) and held[TOKEN] >= token then | if conflicts(mode, held) and held[TOKEN] <= token then
            any of several is renewed: session  | or session_of(held) ~= session then\\n    return false | then\\n    return false
            any of several is renewed: token    | or held[TOKEN] ~= token or session_of(held)      | or session_of(held)
            an ended one of several is renewed  | or held[HOME] ~= home or held[UNTIL] <= now      | or held[HOME] ~= home
            others are left out beside several  | or holders ~= 1 or offers ~= 0                   | or offers ~= 0
            waiters end behind several          | or offers ~= 0 or waiter_due <= now then         | or offers ~= 0 then
            readers wait behind several         | if held[MODE] ~= EXCLUSIVE or held[HOME]         | if held[HOME]
            several are not due in time         | local sooner = next_due < due                    | local sooner = false
            a late acquire is granted           | if age > settings.age_max or                     | if false and age > settings.age_max or
            """)
    void aBrokenFunctionIsFound(String what, String right, String wrong) {
        String code = TestLibrary.shipped();
        String from = right.replace("\\n", "\n");
        assertThat(code).as("what is to be broken").contains(from);
        String broken = "b" + UUID.randomUUID().toString().replace("-", "");
        try (FunctionMachine machine = new FunctionMachine(client, broken, redis.newPrefix())) {
            machine.load(TestLibrary.named(broken, code.replace(from, wrong.replace("\\n", "\n"))));
            Throwable found = null;
            for (String trace : traces().toList()) {
                String text = Files.readString(TRACES.resolve(trace), StandardCharsets.UTF_8);
                try (FunctionMachine again = new FunctionMachine(client, broken, redis.newPrefix())) {
                    found = catchThrowable(() -> new Trace(again).run(text));
                }
                if (found != null) {
                    break;
                }
            }
            for (int seed = 0; found == null && seed < WALKS; seed++) {
                int now = seed;
                try (FunctionMachine again = new FunctionMachine(client, broken, redis.newPrefix())) {
                    found = catchThrowable(() -> new Walk(now, again, new Coverage()).run(STEPS));
                }
            }
            machine.unload();
            assertThat(found).as("what a walk says when %s", what).isInstanceOf(AssertionError.class);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
