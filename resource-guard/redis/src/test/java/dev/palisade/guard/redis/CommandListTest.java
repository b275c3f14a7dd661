package dev.palisade.guard.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockName;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import dev.palisade.redis.TestRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is refused on the spot, before anything is sent. */
class CommandListTest {
    private static final Binding ORDER = Binding.of("orders/42");

    private final Granted grants = new Granted("orders/42");
    private final SignedSequencer sequencer = grants.exclusive(34);

    /** Fails the test when anything is sent. */
    private final FencedRedis fenced = FencedRedis.create(
            new FenceConnection(
                    (StatefulConnection<?, ?>) Proxy.newProxyInstance(
                            getClass().getClassLoader(),
                            new Class<?>[] {StatefulConnection.class},
                            (proxy, method, arguments) -> {
                                throw new AssertionError(method + " was called");
                            }),
                    FencedRedis.TIMEOUT_DEFAULT),
            grants.verifier(),
            line -> {});

    @ParameterizedTest
    @ValueSource(
            strings = {
                "MULTI", "EXEC", "WATCH", "DISCARD", "SUBSCRIBE", "PUBLISH", "SPUBLISH", "BLPOP", "BRPOPLPUSH",
                        "BLMOVE",
                "BZPOPMIN", "XREAD", "XREADGROUP", "WAIT", "FLUSHALL", "FLUSHDB", "SWAPDB", "SELECT", "MOVE", "COPY",
                "MIGRATE", "EVAL", "EVALSHA", "SCRIPT", "FUNCTION", "FCALL", "SHUTDOWN", "CONFIG", "DEBUG", "KEYS",
                "SCAN", "RANDOMKEY", "SORT", "ZUNIONSTORE", "RESTORE", "CLIENT", "REPLICAOF", "NOSUCH", ""
            })
    void commandThatMakesNoSenseInsideIsRefused(String command) {
        for (String name : List.of(command, command.toLowerCase(Locale.ROOT))) {
            assertThatThrownBy(() -> CommandList.of(name, "{orders/42}", "1", "1"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("a guarded list takes no '" + name + "'")
                    .hasMessageNotContaining("\n");
        }
    }

    @Test
    void wrongNumberOfArgumentsIsRefused() {
        assertThatThrownBy(() -> CommandList.of("SET", "{orders/42}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("wrong number of arguments for 'SET': 1");
        assertThatThrownBy(() -> CommandList.of("GET", "k", "l")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> CommandList.of("HSET", "k", "f", "v", "g"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> CommandList.of("MSET", "k", "v", "l")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> CommandList.of("SET", "k", 1.5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not java.lang.Double");
    }

    @Test
    void keyOfAnotherResourceIsRefused() {
        for (String key : List.of(
                "orders/42/items",
                "{orders/43}",
                "x{}{orders/42}",
                "{{orders/42}}",
                "{orders/42",
                "a{orders/4}{orders/42}")) {
            CommandList work = CommandList.of("SET", "{orders/42}", "1").then("SET", key, "1");
            assertThatThrownBy(() -> fenced.write(sequencer, ORDER, work))
                    .as(key)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(
                            "key '" + key + "' does not belong to resource 'orders/42'; nothing was sent");
            assertThatThrownBy(() -> fenced.write(sequencer, ORDER, "return 1", List.of(key)))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        for (CommandList work : List.of(
                CommandList.of("RENAME", "{orders/42}", "elsewhere"),
                CommandList.of("MSET", "{orders/42}", "1", "elsewhere", "2"),
                CommandList.of("BITOP", "AND", "{orders/42}", "{orders/42}a", "elsewhere"),
                CommandList.of("DEL", "{orders/42}", "elsewhere"))) {
            assertThatThrownBy(() -> fenced.write(sequencer, ORDER, work))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("key 'elsewhere'");
        }
    }

    @Test
    void keyOfTheMarkItselfIsRefused() {
        String mark = "palisade:fence:{orders/42}";
        assertThatThrownBy(() -> fenced.write(sequencer, ORDER, CommandList.of("DEL", "{orders/42}", mark)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is the mark of the resource itself; nothing was sent");
        assertThatThrownBy(() -> fenced.write(sequencer, ORDER, CommandList.of("RENAME", "{orders/42}", mark)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> fenced.write(sequencer, ORDER, "return 1", List.of(mark)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void resourceThatIsNoHashTagIsRefused() {
        Binding brace = new Binding("a}b", new LockName("orders/42"));
        for (ThrowingCallable call : List.<ThrowingCallable>of(
                () -> fenced.mark("a}b"),
                () -> fenced.claim(sequencer, brace),
                () -> fenced.write(sequencer, brace, CommandList.of("SET", "a}b", 1)),
                () -> fenced.write(sequencer, brace, "return 1", List.of()))) {
            assertThatThrownBy(call)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("resource 'a}b' cannot be a hash tag");
        }
        // An opening one is harmless: the tag begins at the first of all.
        HashTag.of("a{b").require(List.of(FenceConnection.bytes("{a{b}c"), FenceConnection.bytes("a{b")));
    }

    @Test
    void wholeKeyWithoutABraceIsItsOwnTag() {
        HashTag.of("order:42").require(List.of(FenceConnection.bytes("order:42")));
    }

    @Test
    void readTakesNoCommandThatCanWrite() {
        CommandList work = CommandList.of("GET", "{orders/42}").then("GETDEL", "{orders/42}");
        assertThatThrownBy(() -> fenced.read(grants.shared(34), ORDER, work))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("'GETDEL' can write; nothing was sent");
    }

    @Test
    void listIsBounded() {
        CommandList full = CommandList.of("GET", "k");
        for (int i = 1; i < CommandList.COMMANDS_MAX; i++) {
            full = full.then("GET", "k");
        }
        CommandList last = full;
        assertThat(last.size()).isEqualTo(CommandList.COMMANDS_MAX);
        assertThatThrownBy(() -> last.then("GET", "k")).isInstanceOf(IllegalArgumentException.class);
        Object[] many = new Object[CommandList.WORDS_MAX];
        Arrays.fill(many, "k");
        assertThatThrownBy(() -> CommandList.of("DEL", many))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a guarded call takes at most 4000 words and 4194304 bytes, not 4001 and 4003");
        assertThatThrownBy(() -> fenced.write(sequencer, ORDER, "return 1", List.of("{orders/42}"), many))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not 4001 and");
        assertThatThrownBy(() -> CommandList.of("SET", "k", new byte[CommandList.BYTES_MAX]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not 3 and 4194308");
    }

    @Test
    void tableIsAsRedisDescribesItsCommands() {
        Set<String> harmful = Set.of("movablekeys", "blocking", "noscript", "admin", "pubsub");
        RedisClient client = RedisClient.create(TestRedis.get().uri());
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            for (CommandTable.Entry entry : CommandTable.all()) {
                List<?> info =
                        (List<?>) connection.sync().commandInfo(entry.name()).get(0);
                List<String> flags =
                        ((List<?>) info.get(2)).stream().map(String::valueOf).toList();
                assertThat(info.subList(3, 6))
                        .as(entry.name())
                        .isEqualTo(List.of((long) entry.firstKey(), (long) entry.lastKey(), (long) entry.step()));
                assertThat(info.get(1)).as(entry.name()).isEqualTo((long) entry.arity());
                assertThat(flags).as(entry.name()).contains(entry.reads() ? "readonly" : "write");
                assertThat(flags).as(entry.name()).doesNotContainAnyElementsOf(harmful);
            }
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
        assertThat(CommandTable.all()).hasSizeGreaterThan(100);
    }
}
