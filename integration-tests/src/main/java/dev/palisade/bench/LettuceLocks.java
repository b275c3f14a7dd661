package dev.palisade.bench;

import dev.palisade.scenario.ScenarioFailed;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a careful user writes with Lettuce: the lock and the rise of its token in one script, release by whoever holds it, and a look
 * about every millisecond while it is taken. Nothing is renewed. All callers share one connection, as Lettuce's manual has it.
 */
final class LettuceLocks implements Locks {
    private static final String ACQUIRE =
            "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end"
                    + " return nil";
    private static final String RELEASE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    private static final String TTL_MILLIS = "10000";
    private static final int LOOK_MICROS = 1_000;

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final String acquire;
    private final String release;

    LettuceLocks(String address) {
        client = RedisClient.create(address);
        connection = client.connect();
        acquire = connection.sync().scriptLoad(ACQUIRE);
        release = connection.sync().scriptLoad(RELEASE);
    }

    @Override
    public Hold acquire(String name) throws InterruptedException {
        String owner = newOwner();
        while (true) {
            Long token = connection.sync().evalsha(acquire, ScriptOutputType.INTEGER, keys(name), owner, TTL_MILLIS);
            if (token != null) {
                return new Held(name, owner);
            }
            // Not in step with the others.
            TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(LOOK_MICROS / 2, LOOK_MICROS * 3 / 2));
        }
    }

    @Override
    public CompletionStage<Hold> acquireAsync(String name) {
        String owner = newOwner();
        return connection
                .async()
                .<@Nullable Long>evalsha(acquire, ScriptOutputType.INTEGER, keys(name), owner, TTL_MILLIS)
                .thenApply(token -> {
                    if (token == null) {
                        throw new ScenarioFailed(name + " is taken");
                    }
                    return new Held(name, owner);
                });
    }

    private static String[] keys(String name) {
        return new String[] {name, "token:" + name};
    }

    private static String newOwner() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return new UUID(random.nextLong(), random.nextLong()).toString();
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }

    private final class Held implements Hold {
        private final String[] key;
        private final String owner;

        Held(String name, String owner) {
            this.key = new String[] {name};
            this.owner = owner;
        }

        @Override
        public void release() {
            require(connection.sync().evalsha(release, ScriptOutputType.INTEGER, key, owner));
        }

        @Override
        public CompletionStage<?> releaseAsync() {
            return connection
                    .async()
                    .<Long>evalsha(release, ScriptOutputType.INTEGER, key, owner)
                    .thenAccept(this::require);
        }

        private void require(Long deleted) {
            if (deleted != 1) {
                throw new ScenarioFailed("the lock " + key[0] + " was somebody else's when it was released");
            }
        }
    }
}
