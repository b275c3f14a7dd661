package dev.palisade.guard.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import dev.palisade.redis.TestRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/**
 * Many grants at once on one resource, judged by what Redis itself says was applied: a list that the callers' own commands append to
 * in the guarded step, and its length as each read saw it.
 */
class FencedRedisRaceTest {
    private static final int THREADS = 8;
    private static final int CALLS = 60;
    private static final int ROUNDS_MAX = 50;
    private static final RedisClient CLIENT = RedisClient.create(TestRedis.get().uri());
    private static final StatefulRedisConnection<String, String> CONNECTION = CLIENT.connect();
    private static final ExecutorService RACERS = Executors.newFixedThreadPool(THREADS);

    /** One applied write, as the log has it. */
    private record Write(long token, String grant) {}

    /** One read that was answered, and how many writes it saw. */
    private record Read(long token, String grant, long writesBefore) {}

    /** A fence, right or wrong. */
    private interface Racer {
        void write(SignedSequencer signed, CommandList work);

        long read(SignedSequencer signed, CommandList work);
    }

    private final Granted grants = new Granted("race");

    @AfterAll
    static void end() throws InterruptedException {
        RACERS.shutdownNow();
        assertThat(RACERS.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
        CLIENT.shutdown(0, 0, TimeUnit.SECONDS);
    }

    @Test
    void inARaceTokensNeverFall() throws Exception {
        for (int round = 0; round < 5; round++) {
            assertThat(violation(round, this::right)).isEmpty();
        }
    }

    @Test
    void compareAndWriteInTwoStepsIsFound() throws Exception {
        assertFound(binding -> {
            FencedRedis fenced = FencedRedis.create(CONNECTION, grants.verifier());
            return racer(fenced, binding, (signed, work) -> {
                fenced.claim(signed, binding);
                // The same command in a step of its own.
                String[] words =
                        work.arguments().stream().map(FenceConnection::text).toArray(String[]::new);
                CONNECTION.sync().rpush(words[3], words[4]);
            });
        });
    }

    @Test
    void markThatReadsDoNotRaiseIsFound() throws Exception {
        assertFound(binding -> broken(
                binding,
                FenceScript.resource("fence.lua")
                        .replace("if shared and token > s then", "if false then")
                        .replace("not shared and token > x then", "token > x and commands[1][1] ~= 'LLEN' then")));
    }

    @Test
    void equalTokenOfAnotherGrantIsFound() throws Exception {
        assertFound(binding ->
                broken(binding, FenceScript.resource("fence.lua").replace("grant == mark[2]", "grant ~= ''")));
    }

    @Test
    void refusingNothingIsFound() throws Exception {
        assertFound(binding -> broken(binding, FenceScript.resource("fence.lua").replace("not admitted", "false")));
    }

    private Racer right(Binding binding) {
        FencedRedis fenced = FencedRedis.create(CONNECTION, grants.verifier());
        return racer(fenced, binding, (signed, work) -> fenced.write(signed, binding, work));
    }

    private Racer broken(Binding binding, String fence) {
        assertThat(fence).as("the bug is planted").isNotEqualTo(FenceScript.resource("fence.lua"));
        FencedRedis fenced = new FencedRedis(
                new FenceConnection(CONNECTION, FencedRedis.TIMEOUT_DEFAULT),
                grants.verifier(),
                FenceScript.of(FenceScript.resource("commands.lua"), fence, false),
                new RedisFenceCounters(EventLog.NONE));
        return racer(fenced, binding, (signed, work) -> fenced.write(signed, binding, work));
    }

    private static Racer racer(FencedRedis fenced, Binding binding, BiConsumer<SignedSequencer, CommandList> write) {
        return new Racer() {
            @Override
            public void write(SignedSequencer signed, CommandList work) {
                write.accept(signed, work);
            }

            @Override
            public long read(SignedSequencer signed, CommandList work) {
                return fenced.read(signed, binding, work).get(0).number();
            }
        };
    }

    private interface Fence {
        Racer on(Binding binding);
    }

    private void assertFound(Fence fence) throws Exception {
        Optional<String> violation = Optional.empty();
        for (int round = 0; round < ROUNDS_MAX && violation.isEmpty(); round++) {
            violation = violation(round, fence);
        }
        assertThat(violation).isPresent();
    }

    /** Runs one race on a resource of its own and judges it. */
    private Optional<String> violation(int seed, Fence fence) throws Exception {
        String resource = TestRedis.get().newPrefix();
        String log = "{" + resource + "}:log";
        Racer racer = fence.on(new Binding(resource, new LockName("race")));
        AtomicInteger clock = new AtomicInteger(1);
        Queue<Read> reads = new ConcurrentLinkedQueue<>();
        List<Callable<Void>> racers = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            Random random = new Random(seed * 100L + thread);
            racers.add(() -> {
                for (int i = 0; i < CALLS; i++) {
                    call(racer, random, clock.incrementAndGet(), log, reads);
                }
                return null;
            });
        }
        for (Future<Void> end : RACERS.invokeAll(racers)) {
            end.get();
        }
        List<Write> writes = CONNECTION.sync().lrange(log, 0, -1).stream()
                .map(line -> line.split(":"))
                .map(words -> new Write(Long.parseLong(words[0]), words[1]))
                .toList();
        assertThat(writes.size()).as("the race went somewhere").isGreaterThan(30);
        assertThat(reads.size()).as("reads, too").isGreaterThan(30);
        return firstViolation(writes, reads);
    }

    /** A call of a grant of the last few moments: the newest, or one that does not know yet that it lost. */
    private void call(Racer racer, Random random, int now, String log, Queue<Read> reads) {
        long token = Math.max(1, now / 8 - random.nextInt(3));
        Mode mode = token % 4 == 0 ? Mode.SHARED : Mode.EXCLUSIVE;
        long grant = random.nextInt(16) == 0 ? token + 1_000 : token;
        boolean write = mode == Mode.EXCLUSIVE && random.nextInt(3) > 0;
        SignedSequencer signed = grants.sign(mode, token, grant);
        try {
            if (write) {
                racer.write(signed, CommandList.of("RPUSH", log, token + ":" + grant));
            } else {
                long seen = racer.read(signed, CommandList.of("LLEN", log));
                reads.add(new Read(token, Long.toString(grant), seen));
            }
        } catch (RejectedException e) {
            assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE);
        }
    }

    /** Properties P6 and P7 of the protocol. */
    private static Optional<String> firstViolation(List<Write> writes, Iterable<Read> reads) {
        for (int i = 1; i < writes.size(); i++) {
            Write before = writes.get(i - 1);
            Write write = writes.get(i);
            boolean same = write.equals(before);
            if (write.token() < before.token() || (write.token() == before.token() && !same)) {
                return Optional.of("write " + i + ": P6, " + write + " after " + before);
            }
        }
        for (Read read : reads) {
            for (Write write : writes.subList(Math.toIntExact(read.writesBefore()), writes.size())) {
                if (write.token() <= read.token() && !write.grant().equals(read.grant())) {
                    return Optional.of("P7, " + write + " after " + read);
                }
            }
        }
        return Optional.empty();
    }
}
