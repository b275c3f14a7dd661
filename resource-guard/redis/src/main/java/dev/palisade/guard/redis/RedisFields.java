package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.FenceConnection.bytes;
import static dev.palisade.guard.redis.FenceConnection.text;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.MarkStore.SharedFields;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a register as those of one hash in Redis: one key, so Redis loses all of it or nothing, and one slot. {@code
 * register.lua} is the one step. Decides nothing.
 */
final class RedisFields implements SharedFields {
    private static final FenceScript STEP = FenceScript.of(FenceScript.resource("register.lua"), "", false);
    private static final FenceScript INFO =
            FenceScript.of("return {redis.call('INFO'), redis.call('TYPE', KEYS[1])}", "", false);

    private final FenceConnection connection;
    private final String key;
    private final @Nullable StatefulRedisPubSubConnection<String, String> listening;

    RedisFields(FenceConnection connection, String key) {
        this(connection, key, null);
    }

    /** @param listening null: waiting calls poll */
    RedisFields(
            FenceConnection connection, String key, @Nullable StatefulRedisPubSubConnection<String, String> listening) {
        this.connection = connection;
        this.key = key;
        this.listening = listening;
    }

    /** Of announcements. */
    private String channel() {
        return key + ":left";
    }

    @Override
    public void announce(String message) {
        connection.publish(channel(), message);
    }

    @Override
    public Optional<Runnable> subscribe(Consumer<String> listener) {
        StatefulRedisPubSubConnection<String, String> pubSub = listening;
        if (pubSub == null) {
            return Optional.empty();
        }
        RedisPubSubAdapter<String, String> adapter = new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                if (channel.equals(channel())) {
                    listener.accept(message);
                }
            }
        };
        pubSub.addListener(adapter);
        try {
            pubSub.sync().subscribe(channel());
        } catch (RedisException e) {
            pubSub.removeListener(adapter);
            throw unavailable(
                    "cannot subscribe to '" + channel() + "' in Redis ("
                            + String.valueOf(e.getMessage()).lines().findFirst().orElse("no message")
                            + "); nothing was applied: allow the user this channel, or use RedisRegister.shared without a"
                            + " connection for it: waiting calls then poll",
                    e);
        }
        return Optional.of(() -> {
            pubSub.removeListener(adapter);
            var unused = pubSub.async().unsubscribe(channel());
        });
    }

    @Override
    public Reply compareAndSet(String process, Map<String, String> expected, Map<String, String> changes)
            throws IOException {
        List<byte[]> arguments = new ArrayList<>(List.of(bytes(process), bytes(Integer.toString(expected.size()))));
        for (Map<String, String> fields : List.of(expected, changes)) {
            fields.forEach((field, value) -> {
                arguments.add(bytes(field));
                arguments.add(bytes(value));
            });
        }
        List<Object> reply = eval(STEP, arguments);
        return switch (text(reply.get(0))) {
            case "done" -> new Reply(text(reply.get(1)), true, Map.of());
            case "other" -> new Reply(text(reply.get(1)), false, Map.of());
            case "changed" -> new Reply(text(reply.get(1)), false, values(expected.keySet(), reply));
            case "expires" ->
                throw unavailable(
                        "the key '" + key + "' of the shared register has a time to live, after which Redis deletes it;"
                                + " nothing was applied: run PERSIST " + key + ", and look for what sets it",
                        null);
            default -> throw new IllegalStateException("register.lua replied '" + text(reply.get(0)) + "'");
        };
    }

    private static Map<String, String> values(Collection<String> fields, List<Object> reply) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String field : fields) {
            values.put(field, text(reply.get(values.size() + 2)));
        }
        return values;
    }

    private List<Object> eval(FenceScript script, List<byte[]> arguments) throws IOException {
        try {
            return connection.eval(key, script, List.of(bytes(key)), arguments);
        } catch (RejectedException e) {
            Throwable why = Optional.ofNullable(e.getCause()).orElse(e);
            if (e.reason() == Reason.OUTCOME_UNKNOWN) {
                throw new IOException(String.valueOf(why.getMessage()), why);
            }
            throw cannotBeUsed(why);
        } catch (RedisCommandExecutionException e) {
            throw cannotBeUsed(e);
        }
    }

    private RejectedException cannotBeUsed(Throwable why) {
        return unavailable(
                "the shared register '" + key + "' in Redis cannot be read or written ("
                        + String.valueOf(why.getMessage()).lines().findFirst().orElse("no message")
                        + "); nothing was applied: is this Redis the primary, is it up, and may the user run EVAL, EVALSHA,"
                        + " INFO, PTTL, TYPE, HGET, HSET and HDEL on the key? then try again",
                why);
    }

    private static RejectedException unavailable(String message, @Nullable Throwable cause) {
        RejectedException rejected = new Rejection(Reason.MARK_UNAVAILABLE, message).asException();
        if (cause != null) {
            rejected.initCause(cause);
        }
        return rejected;
    }

    @Override
    public Collection<String> inspect() {
        List<Object> reply;
        try {
            reply = eval(INFO, List.of());
        } catch (IOException e) {
            throw cannotBeUsed(e); // Reading applies nothing.
        }
        String info = text(reply.get(0));
        String type = text(reply.get(1));
        if (!type.equals("hash") && !type.equals("none")) {
            throw unavailable(
                    "the key '" + key + "' in Redis is a " + type + ", not a register: use another name", null);
        }
        refuse(info, "role", "slave", "it is a replica: connect to the primary");
        refuse(info, "cluster_enabled", "1", "it is a node of a Redis Cluster: use a single Redis");
        String policy = value(info, "maxmemory_policy");
        if (!policy.equals("noeviction")) {
            throw unusable("with maxmemory-policy " + policy + " it may evict the register: set noeviction");
        }
        return warnings(info);
    }

    private void refuse(String info, String name, String value, String why) {
        if (value(info, name).equals(value)) {
            throw unusable(why);
        }
    }

    private RejectedException unusable(String why) {
        return unavailable(
                "this Redis cannot hold the shared register '" + key + "', because " + why + "; nothing was applied",
                null);
    }

    private List<String> warnings(String info) {
        List<String> warnings = new ArrayList<>();
        String forgets =
                "entries of guards that were killed would count as ended a lease and unknownOutcomeTimeout after it";
        if (!value(info, "aof_enabled").equals("1")) {
            warnings.add("the Redis of the shared register '" + key
                    + "' has no append-only file: a restart forgets the register," + " and " + forgets
                    + ": set appendonly yes and appendfsync always");
        } else if (!connection.setting("appendfsync").equals("always")) {
            warnings.add("the Redis of the shared register '" + key + "' has appendfsync '"
                    + connection.setting("appendfsync") + "': a crash forgets what it acknowledged last, and " + forgets
                    + ": set appendfsync always");
        }
        if (!value(info, "connected_slaves").equals("0")) {
            warnings.add(
                    "the Redis of the shared register '" + key
                            + "' has replicas: a failover loses what they did not have,"
                            + " even after WAIT, and " + forgets
                            + "; a deposed primary that still takes writes lets late writes through: fence it off before a promotion");
        }
        return warnings;
    }

    private static String value(String info, String name) {
        return info.lines()
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> line.substring(name.length() + 1).strip())
                .findFirst()
                .orElse("unknown");
    }

    @Override
    public String commandToDelete(String field) {
        return "redis-cli HDEL '" + key + "' " + field;
    }
}
