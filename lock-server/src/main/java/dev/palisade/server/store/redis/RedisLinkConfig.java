package dev.palisade.server.store.redis;

import java.time.Duration;

/**
 * How Redis is reached.
 *
 * @param timeout how long Redis may take to answer, or to take a connection, until it is given up; 10 ms to 1 min
 */
public record RedisLinkConfig(StoreUri uri, Duration timeout) {
    public static final Duration TIMEOUT_MIN = Duration.ofMillis(10);
    public static final Duration TIMEOUT_MAX = Duration.ofMinutes(1);

    public RedisLinkConfig {
        if (timeout.compareTo(TIMEOUT_MIN) < 0 || timeout.compareTo(TIMEOUT_MAX) > 0) {
            throw new IllegalArgumentException("timeout is " + timeout + "; use 10 ms to 1 min");
        }
    }
}
