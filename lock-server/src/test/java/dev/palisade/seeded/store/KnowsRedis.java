package dev.palisade.seeded.store;

import io.lettuce.core.RedisURI;

/** Seeded violation. */
public final class KnowsRedis {
    static String host(RedisURI redis) {
        return redis.getHost();
    }
}
