package dev.palisade.guard.redis;

import dev.palisade.contract.RejectedException;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Mark stores of several guards that share marks and a register of running calls in one Redis or Valkey, 7.0 or newer. It has one
 * key for all, a hash: {@code palisade:register:{NAME}}. Each replica of a service has a guard with a store of its own over the
 * same name, and one Lettuce connection to one primary: not to a Cluster.
 *
 * <p>Redis may forget what it has acknowledged: in a crash, depending on {@code appendfsync}, and in every failover, even after
 * WAIT. So each step names the process of Redis and the history of its data. After a restart or a failover all guards raise their
 * marks, as those of a new register, and enter their running calls again; nothing is admitted for a lease and &#916;. <b>Two
 * primaries at a time are not noticed</b>, as long as some guards use the one and some the other.
 */
public final class RedisRegister {
    /** The most characters that a name may have. */
    public static final int NAME_LENGTH_MAX = 100;

    private RedisRegister() {}

    /** {@link #shared(StatefulRedisConnection, String, Duration)} with {@link MarkStore#SHARED_LEASE_DEFAULT}. */
    public static MarkStore shared(StatefulRedisConnection<?, ?> connection, String name) {
        return shared(connection, name, MarkStore.SHARED_LEASE_DEFAULT);
    }

    /**
     * A store for one guard. {@link Guard.Builder#build} refuses a Redis that is a replica, a node of a Cluster, or may evict keys,
     * and warns ({@code register_may_forget}) of one that forgets in a crash or has replicas.
     *
     * @param connection stays the caller's: open as long as the guard, and shared with no MULTI and no blocking command
     * @param name of the register, 1 to {@link #NAME_LENGTH_MAX} of letters, digits, {@code . _ : / -}; the same in each replica
     * @param lease how long a guard may be out of touch with Redis, 1 s to 5 min, as in {@link MarkStore#shared}
     * @throws IllegalArgumentException when the name or the lease is out of range; nothing was sent
     */
    public static MarkStore shared(StatefulRedisConnection<?, ?> connection, String name, Duration lease) {
        return store(connection, name, lease, null);
    }

    /**
     * The same, whose waiting calls are woken by PUBLISH when a call of another guard ends. Otherwise they poll, every 10 to 200
     * ms. The channel is the key and {@code :left}.
     *
     * @param listening to the same Redis; stays the caller's, open as long as the guard
     * @throws IllegalArgumentException as there
     */
    public static MarkStore shared(
            StatefulRedisConnection<?, ?> connection,
            String name,
            Duration lease,
            StatefulRedisPubSubConnection<String, String> listening) {
        return store(connection, name, lease, listening);
    }

    private static MarkStore store(
            StatefulRedisConnection<?, ?> connection,
            String name,
            Duration lease,
            @Nullable StatefulRedisPubSubConnection<String, String> listening) {
        Duration half = lease.dividedBy(2);
        Duration timeout = half.compareTo(FencedRedis.TIMEOUT_DEFAULT) < 0 ? half : FencedRedis.TIMEOUT_DEFAULT;
        return MarkStore.shared(new RedisFields(new FenceConnection(connection, timeout), key(name), listening), lease);
    }

    /**
     * Makes a register under which nothing was ever guarded: the first grants are admitted without asking the lock service. Only for
     * an operator who knows that; once, at installation.
     *
     * @throws RejectedException MARK_UNAVAILABLE: there is one already, or it cannot be made
     * @throws IllegalArgumentException for a name out of range; nothing was sent
     */
    public static void createNeverUsed(StatefulRedisConnection<?, ?> connection, String name) {
        MarkStore.createNeverUsed(
                new RedisFields(new FenceConnection(connection, FencedRedis.TIMEOUT_DEFAULT), key(name)));
    }

    private static String key(String name) {
        if (!name.matches("[A-Za-z0-9._:/-]{1," + NAME_LENGTH_MAX + "}")) {
            throw new IllegalArgumentException(
                    "register name '" + name + "' is not 1 to " + NAME_LENGTH_MAX + " letters, digits and . _ : / -");
        }
        return "palisade:register:{" + name + "}";
    }
}
