package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.Granted.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.Binding;
import dev.palisade.redis.Cutter;
import dev.palisade.redis.RedisProcess;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@link FencedRedis} on a Redis that is killed, cut off, full, deposed or restricted. */
class FencedRedisTroubleTest {
    private static final Duration SOON = Duration.ofMillis(300);
    private static final Binding ORDER = Binding.of("orders/42");
    private static final CommandList ADD = CommandList.of("INCR", "{orders/42}");

    private final Granted grants = new Granted("orders/42");
    private final RedisProcess redis = RedisProcess.start();
    private final List<AutoCloseable> open = new ArrayList<>(List.of(redis));

    @AfterEach
    void close() throws Exception {
        for (int i = open.size(); i > 0; i--) {
            open.get(i - 1).close();
        }
    }

    private FencedRedis fenced(RedisURI uri, ClientOptions options) {
        return FencedRedis.create(connect(uri, options), grants.verifier());
    }

    private FencedRedis fenced() {
        return fenced(RedisURI.create(redis.uri()), ClientOptions.create());
    }

    private StatefulRedisConnection<String, String> connect(RedisURI uri, ClientOptions options) {
        RedisClient client = RedisClient.create(uri);
        client.setOptions(options);
        open.add(() -> client.shutdown(0, 0, TimeUnit.SECONDS));
        return client.connect();
    }

    private String value() {
        return redis.ask("GET", "{orders/42}");
    }

    /** Lettuce's default is to write it again when it reconnects. */
    @Test
    void callWithoutAReplyIsUnknownAndIsNotWrittenAgain() throws Exception {
        Cutter cutter = new Cutter(redis.port());
        open.add(cutter);
        StatefulRedisConnection<String, String> connection =
                connect(RedisURI.create(cutter.uri()), ClientOptions.create());
        FencedRedis fenced = FencedRedis.create(connection, grants.verifier());
        fenced.write(grants.exclusive(34), ORDER, ADD);
        cutter.cutAfter = "EVALSHA";
        Rejection after = refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.OUTCOME_UNKNOWN);
        assertThat(after.metadata()).containsEntry(Rejection.APPLIED, "unknown");
        assertThat(connection.sync().ping()).isEqualTo("PONG");
        assertThat(value())
                .as("it was applied, once, and nobody said it was not")
                .isEqualTo("2");
        cutter.cutAfter = "\0";
        cutter.cutBefore = "EVALSHA";
        refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.OUTCOME_UNKNOWN);
        cutter.cutBefore = "\0";
        assertThat(connection.sync().ping()).isEqualTo("PONG");
        assertThat(value()).as("nor later").isEqualTo("2");
        assertThat(fenced.write(grants.exclusive(34), ORDER, ADD).get(0).number())
                .as("the connection is in order")
                .isEqualTo(3);
    }

    @Test
    void redisKilledInTheCallIsUnknownAndLaterCallsAreNotApplied() throws Exception {
        FencedRedis fenced = fenced();
        fenced.claim(grants.exclusive(34), ORDER);
        redis.freeze();
        ExecutorService threads = Executors.newCachedThreadPool();
        open.add(threads::shutdownNow);
        Future<Rejection> killed = threads.submit(
                () -> refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.OUTCOME_UNKNOWN));
        await().until(() -> fenced.stats().waiting() == 1);
        refused(() -> fenced.withTimeout(SOON).write(grants.exclusive(34), ORDER, ADD), Reason.OUTCOME_UNKNOWN);
        redis.kill9();
        await().untilAsserted(() -> refused(
                () -> fenced.withTimeout(SOON).write(grants.exclusive(34), ORDER, ADD), Reason.STORE_UNAVAILABLE));
        Rejection down =
                refused(() -> fenced.withTimeout(SOON).claim(grants.exclusive(34), ORDER), Reason.STORE_UNAVAILABLE);
        assertThat(down.metadata()).containsEntry(Rejection.APPLIED, "no");
        refused(() -> fenced.withTimeout(SOON).mark("orders/42"), Reason.STORE_UNAVAILABLE);
        redis.restart();
        killed.get(60, TimeUnit.SECONDS);
        await().ignoreExceptions().until(() -> fenced.mark("orders/42").exclusiveToken() == 0);
        assertThat(value()).as("what waited for a connection was withdrawn").isEqualTo("nil");
        fenced.write(grants.exclusive(33), ORDER, ADD);
        assertThat(value())
                .as("without persistence the mark is lost with the data")
                .isEqualTo("1");
    }

    @Test
    void connectionThatDoesNotReconnectIsUnavailableAtOnce() {
        StatefulRedisConnection<String, String> connection = connect(
                RedisURI.create(redis.uri()),
                ClientOptions.builder().autoReconnect(false).build());
        FencedRedis fenced = FencedRedis.create(connection, grants.verifier());
        redis.kill9();
        await().until(() -> !connection.isOpen());
        refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.STORE_UNAVAILABLE);
        connection.close();
        refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.STORE_UNAVAILABLE);
    }

    /** Whatever Redis loses of its log, it is at one earlier moment afterwards. */
    @Test
    void markAndDataAreLostTogether() throws Exception {
        RedisProcess durable = RedisProcess.start("appendonly yes", "appendfsync always");
        open.add(durable);
        FencedRedis fenced = fenced(RedisURI.create(durable.uri()), ClientOptions.create());
        CommandList work = CommandList.of("DEL", "{orders/42}:old");
        for (int token = 1; token <= 30; token++) {
            fenced.write(grants.exclusive(token), ORDER, work.then("SET", "{orders/42}", token));
        }
        durable.kill9();
        Path log;
        try (Stream<Path> files = Files.walk(durable.folder())) {
            log = files.filter(file -> file.toString().endsWith(".incr.aof"))
                    .findFirst()
                    .orElseThrow();
        }
        Set<String> seen = new HashSet<>();
        for (int cut : List.of(0, 1, 20, 40, 60, 80, 500, 1_500)) {
            try (FileChannel file = FileChannel.open(log, StandardOpenOption.WRITE)) {
                file.truncate(file.size() - cut);
            }
            durable.restart();
            String value = durable.ask("GET", "{orders/42}");
            assertThat(durable.ask("HGET", "palisade:fence:{orders/42}", "x")).isEqualTo(value);
            assertThat(seen.isEmpty() == value.equals("30"))
                    .as("with an fsync for each reply a crash alone loses nothing")
                    .isTrue();
            seen.add(value);
            durable.kill9();
        }
        assertThat(seen.size()).as("moments").isGreaterThan(3);
    }

    @Test
    void interruptEndsTheCallWithWhatIsKnown() {
        FencedRedis fenced = fenced();
        fenced.claim(grants.exclusive(34), ORDER);
        redis.freeze();
        Thread.currentThread().interrupt();
        Reason reason = catchThrowableOfType(
                        RejectedException.class, () -> fenced.write(grants.exclusive(34), ORDER, ADD))
                .reason();
        assertThat(Thread.interrupted()).isTrue();
        redis.thaw();
        assertThat(reason).isIn(Reason.OUTCOME_UNKNOWN, Reason.STORE_UNAVAILABLE);
        // On the same connection, so after whatever was written.
        String mine = fenced.read(grants.exclusive(34), ORDER, CommandList.of("GET", "{orders/42}"))
                .get(0)
                .toString();
        assertThat(mine).isIn(reason == Reason.OUTCOME_UNKNOWN ? List.of("nil", "1") : List.of("nil"));
    }

    @Test
    void connectionInMultiIsRefused() {
        StatefulRedisConnection<String, String> connection =
                connect(RedisURI.create(redis.uri()), ClientOptions.create());
        FencedRedis fenced = FencedRedis.create(connection, grants.verifier());
        connection.sync().multi();
        assertThatThrownBy(() -> fenced.write(grants.exclusive(34), ORDER, ADD))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is in MULTI; nothing was sent");
        connection.sync().discard();
        fenced.write(grants.exclusive(34), ORDER, ADD);
    }

    @Test
    void redisThatMayEvictMarksIsRefusedAtTheFirstUse() {
        FencedRedis fenced = fenced();
        for (String policy : List.of("allkeys-lru", "allkeys-lfu", "allkeys-random")) {
            redis.ask("CONFIG", "SET", "maxmemory-policy", policy);
            Rejection rejection =
                    refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.MARK_UNAVAILABLE);
            assertThat(rejection.message()).contains(policy).contains("set noeviction");
        }
        redis.ask("CONFIG", "SET", "maxmemory-policy", "volatile-lru");
        fenced.write(grants.exclusive(34), ORDER, ADD);
        assertThat(value()).isEqualTo("1");
    }

    @Test
    void fullRedisAndReplicaApplyNothing() {
        FencedRedis fenced = fenced();
        fenced.claim(grants.exclusive(33), ORDER);
        redis.ask("CONFIG", "SET", "maxmemory", "1mb");
        Rejection full = refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.STORE_UNAVAILABLE);
        assertThat(full.message()).contains("OOM command not allowed");
        assertThatThrownBy(() -> fenced.write(grants.exclusive(33), ORDER, ADD))
                .as("with a mark that need not be raised")
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("nothing was applied");
        redis.ask("CONFIG", "SET", "maxmemory", "0");
        redis.ask("REPLICAOF", "127.0.0.1", "1");
        Rejection replica = refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.STORE_UNAVAILABLE);
        assertThat(replica.message()).contains("READONLY").contains("nothing was applied");
        redis.ask("REPLICAOF", "NO", "ONE");
        assertThat(fenced.mark("orders/42").exclusiveToken()).isEqualTo(33);
        assertThat(value()).isEqualTo("nil");
    }

    @Test
    void commandThatTheUserMayNotRunIsFoundBeforeAnythingIsWritten() {
        redis.ask(
                "ACL",
                "SETUSER",
                "app",
                "on",
                ">secret",
                "~{orders/42}*",
                "~palisade:fence:*",
                "+@all",
                "-del",
                "-config");
        RedisURI uri = RedisURI.builder(RedisURI.create(redis.uri()))
                .withAuthentication("app", "secret".toCharArray())
                .build();
        FencedRedis fenced = fenced(uri, ClientOptions.create());
        assertThatThrownBy(() -> fenced.write(grants.exclusive(34), ORDER, ADD.then("DEL", "{orders/42}:items")))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageStartingWith("NOPERM this user may not run the command")
                .hasMessageContaining("(command 2 of 2 on 'orders/42'; nothing was applied, the mark is as before)");
        assertThat(value()).isEqualTo("nil");
        redis.ask("ACL", "SETUSER", "app", "-hset");
        refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.MARK_UNAVAILABLE);
        redis.ask("ACL", "SETUSER", "app", "-evalsha");
        refused(() -> fenced.write(grants.exclusive(34), ORDER, ADD), Reason.MARK_UNAVAILABLE);
        assertThat(value()).isEqualTo("nil");
    }

    /** What a proxy in front of Redis says of a call whose reply it lost. */
    @Test
    void errorThatIsNotOfRedisItselfIsUnknown() {
        RuntimeException unknown =
                RedisFenceRejections.ofError("orders/42", new RedisCommandExecutionException("ERR upstream failure"));
        refused(
                () -> {
                    throw unknown;
                },
                Reason.OUTCOME_UNKNOWN);
    }

    @Test
    void callFollowsItsSlotThroughACluster() {
        RedisProcess other = node();
        RedisProcess first = node();
        first.ask("CLUSTER", "SET-CONFIG-EPOCH", "1");
        other.ask("CLUSTER", "SET-CONFIG-EPOCH", "2");
        first.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
        first.ask("CLUSTER", "MEET", "127.0.0.1", String.valueOf(other.port()));
        await().until(() -> other.ask("CLUSTER", "INFO").contains("cluster_state:ok")
                && first.ask("CLUSTER", "INFO").contains("cluster_known_nodes:2"));
        RedisClusterClient client = RedisClusterClient.create(first.uri());
        open.add(() -> client.shutdown(0, 0, TimeUnit.SECONDS));
        StatefulRedisClusterConnection<String, String> connection = client.connect();
        FencedRedis fenced = FencedRedis.create(connection, grants.verifier());
        fenced.write(grants.exclusive(34), ORDER, ADD);
        String slot = String.valueOf(SlotHash.getSlot("{orders/42}"));
        first.ask("DEL", "{orders/42}", "palisade:fence:{orders/42}");
        String newOwner = other.ask("CLUSTER", "MYID");
        other.ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);
        first.ask("CLUSTER", "SETSLOT", slot, "NODE", newOwner);
        assertThat(fenced.write(grants.exclusive(34), ORDER, ADD.then("GET", "{orders/42}"))
                        .get(1)
                        .text())
                .as("the old owner sends it on, and it is run there once")
                .isEqualTo("1");
        assertThat(other.ask("GET", "{orders/42}")).isEqualTo("1");
        FencedRedis single = fenced(RedisURI.create(first.uri()), ClientOptions.create());
        Rejection moved = refused(() -> single.write(grants.exclusive(34), ORDER, ADD), Reason.STORE_UNAVAILABLE);
        assertThat(moved.message()).contains("MOVED").contains("nothing was applied");
    }

    private RedisProcess node() {
        RedisProcess node = RedisProcess.start("cluster-enabled yes", "cluster-node-timeout 2000");
        open.add(node);
        return node;
    }
}
