package dev.palisade.guard.redis;

import dev.palisade.contract.RejectedException;
import dev.palisade.guard.Mark;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The caller's connection, as far as the fence uses it: one script or one HMGET at a time, each written at most once, each with a
 * deadline. Knows which failures mean "not applied". Never closes the connection. Safe for use by many threads.
 */
final class FenceConnection {
    private final StatefulConnection<byte[], byte[]> connection;
    private final Duration timeout;

    /** Any codec will do: a {@link FenceCall} brings its own bytes and reads its own reply. */
    @SuppressWarnings("unchecked")
    FenceConnection(StatefulConnection<?, ?> connection, Duration timeout) {
        this.connection = (StatefulConnection<byte[], byte[]>) connection;
        this.timeout = timeout;
    }

    FenceConnection withTimeout(Duration other) {
        return new FenceConnection(connection, other);
    }

    /**
     * @return the script's reply, never empty
     * @throws RejectedException STORE_UNAVAILABLE, MARK_UNAVAILABLE: not applied; or OUTCOME_UNKNOWN
     * @throws RedisCommandExecutionException the script does not compile
     * @throws IllegalStateException when the connection is in MULTI
     */
    List<Object> eval(String resource, FenceScript script, List<byte[]> keys, List<byte[]> arguments) {
        long endNanos = System.nanoTime() + timeout.toNanos();
        try {
            try {
                return send(resource, call(CommandType.EVALSHA, script.digest(), keys, arguments), endNanos);
            } catch (RedisNoScriptException unknownToThisRedis) {
                return send(resource, call(CommandType.EVAL, script.text(), keys, arguments), endNanos);
            }
        } catch (RedisCommandExecutionException e) {
            throw RedisFenceRejections.ofError(resource, e);
        }
    }

    /** @throws RejectedException STORE_UNAVAILABLE or MARK_UNAVAILABLE */
    Mark mark(String resource, byte[] key) {
        CommandArgs<byte[], byte[]> args = new CommandArgs<>(ByteArrayCodec.INSTANCE)
                .addKey(key)
                .add("x")
                .add("g")
                .add("s");
        try {
            List<Object> fields =
                    new ArrayList<>(send(resource, new FenceCall(CommandType.HMGET, args), deadlineNanos()));
            fields.replaceAll(field -> field == null ? bytes("") : field);
            fields.set(0, text(fields.get(0)).isEmpty() ? bytes("0") : fields.get(0));
            fields.set(2, text(fields.get(2)).isEmpty() ? bytes("0") : fields.get(2));
            return FenceReply.mark(fields);
        } catch (RejectedException e) {
            // A lost reply leaves nothing unknown here: reading applies nothing.
            throw RedisFenceRejections.unavailable(resource, e.getCause());
        } catch (RedisCommandExecutionException | IllegalArgumentException e) {
            throw RedisFenceRejections.unreadable(resource, e);
        }
    }

    /** The value of a setting of Redis by CONFIG GET; {@code unknown} where that is not allowed, or nothing replies. */
    String setting(String name) {
        CommandArgs<byte[], byte[]> args =
                new CommandArgs<>(ByteArrayCodec.INSTANCE).add("GET").add(name);
        try {
            List<Object> reply = send(name, new FenceCall(CommandType.CONFIG, args), deadlineNanos());
            return reply.size() == 2 ? text(reply.get(1)) : "unknown";
        } catch (RejectedException | RedisCommandExecutionException e) {
            return "unknown";
        }
    }

    /** Sends a PUBLISH and waits for nothing. */
    void publish(String channel, String message) {
        CommandArgs<byte[], byte[]> args =
                new CommandArgs<>(ByteArrayCodec.INSTANCE).add(bytes(channel)).add(bytes(message));
        try {
            connection.dispatch(new FenceCall(CommandType.PUBLISH, args));
        } catch (RuntimeException e) {
            // Lettuce took no command: the listeners poll.
        }
    }

    private long deadlineNanos() {
        return System.nanoTime() + timeout.toNanos();
    }

    private static FenceCall call(CommandType type, String script, List<byte[]> keys, List<byte[]> arguments) {
        CommandArgs<byte[], byte[]> args =
                new CommandArgs<>(ByteArrayCodec.INSTANCE).add(bytes(script)).add(keys.size());
        keys.forEach(args::addKey);
        arguments.forEach(args::add);
        return new FenceCall(type, args);
    }

    private List<Object> send(String resource, FenceCall call, long endNanos) {
        if (connection instanceof StatefulRedisConnection<?, ?> single && single.isMulti()) {
            throw new IllegalStateException("the connection of the fence of '" + resource
                    + "' is in MULTI; nothing was sent: give FencedRedis a connection without transactions");
        }
        Throwable why = null;
        try {
            connection.dispatch(call);
            List<Object> reply = call.get(endNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (!call.wasReplaced()) {
                return reply;
            }
        } catch (ExecutionException e) {
            why = e.getCause();
            if (why instanceof RedisCommandExecutionException error && !call.wasReplaced()) {
                throw error;
            }
        } catch (TimeoutException e) {
            why = new TimeoutException("no reply within " + timeout.toMillis() + " ms");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            why = e;
        } catch (RedisCommandExecutionException e) {
            throw new IllegalStateException("an error reply without a call", e);
        } catch (RuntimeException e) {
            // Lettuce took no command, or cancelled this one when the connection was closed.
            why = e;
        }
        throw call.withdraw()
                ? RedisFenceRejections.unavailable(resource, why)
                : RedisFenceRejections.unknown(resource, why);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Redis' short status replies come as text, all others as bytes. */
    static String text(@Nullable Object value) {
        return value instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : String.valueOf(value);
    }
}
