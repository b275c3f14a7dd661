package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.redis.RedisRegister;
import dev.palisade.guard.redis.TestFields;
import dev.palisade.redis.Cutter;
import dev.palisade.redis.RedisProcess;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A register in a Redis that is restarted, emptied, deposed, frozen, cut off, or set up so that it may forget. */
@NullUnmarked
class SharedRegisterOnRedisTroubleTest {
    private static final String KEY = TestFields.key("orders");
    private static final Duration LEASE = Duration.ofSeconds(1);

    private final RedisProcess redis = RedisProcess.start();
    private final List<AutoCloseable> open = new ArrayList<>(List.of(redis));
    private final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final ScriptedLocks locks = new ScriptedLocks(new ManualTime());

    @AfterEach
    void close() throws Exception {
        for (int i = open.size(); i > 0; i--) {
            open.get(i - 1).close();
        }
    }

    private StatefulRedisConnection<String, String> connect(String uri) {
        RedisClient client = RedisClient.create(uri);
        open.add(() -> client.shutdown(0, 0, TimeUnit.SECONDS));
        return client.connect();
    }

    private Guard guard() {
        return guard(RedisRegister.shared(connect(redis.uri()), "orders", LEASE));
    }

    private Guard guard(MarkStore store) {
        Guard guard = SharedRegisterContract.builder(store)
                .unknownOutcomeTimeout(Duration.ofMillis(50))
                .lockService(locks)
                .eventLines(events::add)
                .build();
        open.add(guard);
        return guard;
    }

    private static CompletableFuture<Admission> write(Guard guard, long token) {
        return SharedRegisterContract.write(guard, token);
    }

    private static Admission admitted(CompletableFuture<Admission> entering) {
        return SharedRegisterContract.admitted(entering);
    }

    /** A guard with so short a lease may be without it for a moment, on a machine that is busy. */
    private static void awaitStale(Guard guard, long token) {
        SharedRegisterContract.await(() -> refused(write(guard, token)).reason() == Reason.TOKEN_STALE);
    }

    private static Rejection refused(CompletableFuture<Admission> entering) {
        return SharedRegisterContract.refused(entering);
    }

    private RegisterHeader header() {
        String text = redis.ask("HGET", KEY, "state");
        return text.equals("nil") ? null : RegisterHeader.parse(text);
    }

    private void awaitEpoch(long epoch) {
        SharedRegisterContract.await(() -> header() != null && header().epoch() >= epoch);
    }

    private void awaitEvents(String event, int count) {
        SharedRegisterContract.await(
                () -> events.stream().filter(line -> line.contains(event)).count() >= count);
    }

    private interface Loss {
        void happen() throws Exception;
    }

    /** Two guards, one with a running call that others must not overtake, and marks that must not come back lower. */
    private void survives(Loss loss) throws Exception {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Guard one = guard();
        Guard two = guard();
        admitted(write(two, 34)).close();
        Admission running = admitted(write(one, 35));
        long before = header().epoch();
        loss.happen();
        awaitEvents("register_lost", 2);
        awaitEpoch(before + 1);
        awaitStale(two, 34);
        awaitStale(two, 35);
        long fresh = locks.token + 1;
        CompletableFuture<Admission> next = write(two, fresh);
        SharedRegisterContract.await(() -> header().settled() >= header().epoch());
        assertThat(redis.ask("HGET", KEY, "row:orders/42"))
                .as("the running call, and the mark of the next one")
                .contains(" 35 ", " " + fresh + " ");
        assertThat(next).as("the older call still runs").isNotDone();
        running.close();
        admitted(next).close();
    }

    @Test
    void restartWithoutItsDataIsNoticed() throws Exception {
        survives(() -> {
            redis.kill9();
            redis.restart();
        });
    }

    @Test
    void emptiedRedisIsNoticed() throws Exception {
        survives(() -> redis.ask("FLUSHALL"));
    }

    /** The guard remembers the state of the register, and has not read yet when it renewed its lease. */
    @Test
    void lossBeforeTheFirstRenewalIsNoticed() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        ManualTime time = new ManualTime();
        Guard one = SharedRegisterContract.builder(RedisRegister.shared(connect(redis.uri()), "orders", LEASE))
                .time(time)
                .eventLines(events::add)
                .build();
        open.add(one);
        admitted(write(one, 34)).close();
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
        redis.ask("FLUSHALL");
        SharedRegisterContract.await(() -> {
            time.pass(Duration.ofMillis(100));
            return events.stream().anyMatch(line -> line.contains("register_lost"));
        });
    }

    /** The same process and nothing restarted: what came back is a copy, of the same register, that is older. */
    @Test
    void primaryThatWasAReplicaOfAnOlderCopyIsNoticed() throws Exception {
        RedisProcess other = RedisProcess.start();
        open.add(other);
        survives(() -> {
            replicate(other, redis);
            other.ask("HDEL", KEY, "row:orders/42"); // It has missed what came last.
            replicate(redis, other);
        });
    }

    /** As it is now, and a primary again. */
    private static void replicate(RedisProcess replica, RedisProcess primary) {
        replica.ask("REPLICAOF", primary.host(), Integer.toString(primary.port()));
        SharedRegisterContract.await(() -> replica.info("master_link_status").equals("up"));
        replica.ask("REPLICAOF", "NO", "ONE");
    }

    @Test
    void olderCopyOfTheRegisterAdmitsNoFormerHolder() throws Exception {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Guard one = guard();
        admitted(write(one, 34)).close();
        redis.ask("SAVE");
        admitted(write(one, 35)).close();
        redis.kill9();
        redis.restart(); // Loads what was saved.
        assertThat(redis.ask("HGET", KEY, "row:orders/42")).contains(" 34 ");
        awaitEvents("register_lost", 1);
        locks.token = 40;
        awaitStale(one, 34);
        awaitStale(guard(), 34);
    }

    /** All guards were closed in order before: the new one has no memory that could notice anything. */
    @Test
    void guardThatStartsAfterARestartTrustsNoMark() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Guard one = guard();
        admitted(write(one, 34)).close();
        one.close();
        redis.ask("SAVE");
        redis.restart();
        locks.token = 40;
        Guard two = guard();
        awaitStale(two, 35);
        assertThat(header().epoch()).isEqualTo(1);
        assertThat(header().forgot()).isTrue();
        assertThat(header().state().waitMillis()).as("a lease and Δ").isEqualTo(1050);
    }

    @Test
    void registerThatAStrangerMadeAnewEndsTheGuardsOfTheLostOne() throws Exception {
        Guard one = guard();
        RedisRegister.createNeverUsed(connect(redis.uri()), "strangers");
        redis.ask("RENAME", TestFields.key("strangers"), KEY); // In one step: the guard would make it anew itself.
        // Its refusal may name another reason, on a machine so busy that the lease ended first.
        awaitEvents("another one was made in its place", 1);
        SharedRegisterContract.await(one::refusesEveryCall);
    }

    @Test
    void scriptWithoutAReplyStartsNothingAndItsEntryGoes() throws Exception {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Cutter cutter = new Cutter(redis.port());
        open.add(cutter);
        Guard one = guard(RedisRegister.shared(connect(cutter.uri()), "orders", Duration.ofMinutes(5)));
        admitted(write(one, 34)).close();
        for (boolean after : new boolean[] {true, false}) {
            SharedRegisterContract.await(
                    () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
            cutter.cutAfter = after ? "EVALSHA" : "\0";
            cutter.cutBefore = after ? "\0" : "EVALSHA";
            CompletableFuture<Admission> entering = write(one, 34);
            if (after) {
                SharedRegisterContract.await(
                        () -> redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
            }
            assertThat(entering).isNotDone();
            cutter.cutAfter = "\0";
            cutter.cutBefore = "\0";
            admitted(entering).close();
        }
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
    }

    /** What was sent before the timeout is run when Redis continues, after or before what was sent later. */
    @Test
    void scriptThatRunsLongAfterItsTimeoutLeavesNoEntry() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        BrokenFields fields = new BrokenFields(TestFields.of(connect(redis.uri()), "orders", Duration.ofMillis(200))) {
            @Override
            public Reply compareAndSet(String process, Map<String, String> expected, Map<String, String> changes)
                    throws IOException {
                try {
                    return super.compareAndSet(process, expected, changes);
                } catch (IOException e) {
                    failures.incrementAndGet();
                    throw e;
                }
            }
        };
        Guard one = guard(MarkStore.shared(fields, Duration.ofMinutes(5)));
        admitted(write(one, 34)).close();
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
        redis.freeze();
        CompletableFuture<Admission> entering = write(one, 34);
        CompletableFuture<Admission> given = write(one, 34);
        SharedRegisterContract.await(() -> fields.failures.get() > 1);
        assertThat(entering).isNotDone();
        given.cancel(false);
        redis.thaw();
        admitted(entering).close();
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
    }

    /** Not a bound on time: how often Redis is asked, when no other guard comes in between. */
    @Test
    void callCostsOneScriptToEnterAndOneToLeave() throws Exception {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Cutter cutter = new Cutter(redis.port());
        open.add(cutter);
        Guard one = SharedRegisterContract.builder(
                        RedisRegister.shared(connect(cutter.uri()), "orders", Duration.ofMinutes(5)))
                .time(new ManualTime())
                .build();
        open.add(one);
        admitted(write(one, 34)).close();
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
        long before = cutter.written("EVALSHA");
        for (int i = 0; i < 10; i++) {
            admitted(write(one, 34)).close();
        }
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
        assertThat(cutter.written("EVALSHA") - before).isBetween(11L, 20L);
    }

    /** The row holds no call before and after, so nothing but its version tells the two apart. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void stepThatArrivesAfterItsCallGaveUpChangesNothing(boolean rowIsOfTheSameGuard) throws Exception {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        AtomicBoolean holds = new AtomicBoolean();
        List<Callable<Boolean>> held = new CopyOnWriteArrayList<>();
        BrokenFields fields = new BrokenFields(TestFields.of(connect(redis.uri()), "orders", Duration.ofSeconds(30))) {
            @Override
            public Reply compareAndSet(String process, Map<String, String> expected, Map<String, String> changes)
                    throws IOException {
                if (holds.get() && held.isEmpty() && changes.toString().contains("WRITE")) {
                    held.add(() ->
                            super.compareAndSet(process, expected, changes).done());
                    throw new IOException("on its way for long");
                }
                return super.compareAndSet(process, expected, changes);
            }
        };
        Guard one = guard(MarkStore.shared(fields, Duration.ofMinutes(5)));
        MarkStore others = RedisRegister.shared(connect(redis.uri()), "orders", Duration.ofMinutes(5));
        admitted(write(rowIsOfTheSameGuard ? one : guard(others), 34)).close();
        SharedRegisterContract.await(
                () -> !redis.ask("HGET", KEY, "row:orders/42").contains("WRITE"));
        String before = redis.ask("HGET", KEY, "row:orders/42");
        holds.set(true);
        CompletableFuture<Admission> entering = write(one, 34);
        SharedRegisterContract.await(() -> !held.isEmpty());
        entering.cancel(false);
        SharedRegisterContract.await(() -> {
            String row = redis.ask("HGET", KEY, "row:orders/42");
            return !row.contains("WRITE") && !row.equals(before);
        });
        assertThat(held.get(0).call()).isFalse();
    }

    @Test
    void redisThatMayEvictIsRefused() {
        redis.ask("CONFIG", "SET", "maxmemory-policy", "volatile-lru");
        assertThatThrownBy(this::guard)
                .hasMessageContaining("maxmemory-policy volatile-lru")
                .message()
                .hasLineCount(1);
    }

    @Test
    void replicaIsRefused() {
        RedisProcess primary = RedisProcess.start();
        open.add(primary);
        redis.ask("REPLICAOF", primary.host(), Integer.toString(primary.port()));
        assertThatThrownBy(this::guard).hasMessageContaining("it is a replica");
    }

    @Test
    void nodeOfAClusterIsRefused() {
        RedisProcess node = RedisProcess.start("cluster-enabled yes");
        node.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        SharedRegisterContract.await(() -> node.ask("CLUSTER", "INFO").contains("cluster_state:ok"));
        open.add(node);
        assertThatThrownBy(() -> guard(RedisRegister.shared(connect(node.uri()), "orders", LEASE)))
                .hasMessageContaining("Redis Cluster");
    }

    @Test
    void keyOfAnotherTypeIsRefused() {
        redis.ask("SET", KEY, "x");
        assertThatThrownBy(this::guard).hasMessageContaining("is a string, not a register");
    }

    @Test
    void keyThatExpiresAdmitsNothing() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Guard one = guard(RedisRegister.shared(connect(redis.uri()), "orders", Duration.ofMinutes(5)));
        redis.ask("EXPIRE", KEY, "1000");
        CompletableFuture<Admission> entering = one.enterAsync(
                SharedRegisterContract.exclusive(34),
                Access.WRITE,
                Check.LOCAL,
                Duration.ofMillis(300),
                SharedRegisterContract.ORDER);
        assertThat(refused(entering).message())
                .contains("has a time to live", "PERSIST")
                .hasLineCount(1);
        redis.ask("PERSIST", KEY);
        admitted(write(one, 34)).close();
    }

    @Test
    void damagedRowAdmitsNothing() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        redis.ask("HSET", KEY, "row:orders/42", "x");
        CompletableFuture<Admission> entering = guard().enterAsync(
                        SharedRegisterContract.exclusive(34),
                        Access.WRITE,
                        Check.LOCAL,
                        Duration.ofMillis(300),
                        SharedRegisterContract.ORDER);
        assertThat(refused(entering).message())
                .contains("row of 'orders/42'", "damaged")
                .hasLineCount(1);
    }

    @Test
    void redisThatForgetsInACrashIsReported() {
        guard();
        assertThat(events)
                .anyMatch(line -> line.contains("register_may_forget") && line.contains("no append-only file"));
        RedisProcess durable = RedisProcess.start("appendonly yes");
        open.add(durable);
        events.clear();
        guard(RedisRegister.shared(connect(durable.uri()), "orders", MarkStore.SHARED_LEASE_DEFAULT));
        assertThat(events).anyMatch(line -> line.contains("appendfsync 'everysec'"));
        durable.ask("CONFIG", "SET", "appendfsync", "always");
        events.clear();
        guard(RedisRegister.shared(connect(durable.uri()), "another", MarkStore.SHARED_LEASE_DEFAULT));
        assertThat(events).noneMatch(line -> line.contains("register_may_forget"));
    }

    @Test
    void secondNeverUsedRegisterIsRefused() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        assertThatThrownBy(() -> RedisRegister.createNeverUsed(connect(redis.uri()), "orders"))
                .hasMessageContaining("there is a shared register already");
    }

    @Test
    void silentGuardIsReportedWithTheCommandThatEndsIt() {
        RedisRegister.createNeverUsed(connect(redis.uri()), "orders");
        Guard gone = guard();
        var unused = admitted(write(gone, 33));
        gone.close();
        guard();
        awaitEvents("guard_silent", 1);
        String line = events.stream()
                .filter(each -> each.contains("guard_silent"))
                .findFirst()
                .orElseThrow();
        String id = line.replaceAll("(?s).*guard:([0-9a-f]{32}).*", "$1");
        assertThat(line).contains("redis-cli HDEL '" + KEY + "' guard:" + id);
        assertThat(redis.ask("HDEL", KEY, "guard:" + id)).isEqualTo("1");
        admitted(write(guard(), 34)).close();
        assertThat(redis.ask("HKEYS", KEY)).doesNotContain(id);
    }
}
