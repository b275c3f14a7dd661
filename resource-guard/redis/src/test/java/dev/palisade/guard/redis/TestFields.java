package dev.palisade.guard.redis;

import dev.palisade.guard.MarkStore.SharedFields;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;

/** The fields of a register in Redis, for tests that stand in between. */
public final class TestFields {
    private TestFields() {}

    /** @param timeout of each step */
    public static SharedFields of(StatefulRedisConnection<?, ?> connection, String name, Duration timeout) {
        return new RedisFields(new FenceConnection(connection, timeout), key(name));
    }

    public static String key(String name) {
        return "palisade:register:{" + name + "}";
    }
}
