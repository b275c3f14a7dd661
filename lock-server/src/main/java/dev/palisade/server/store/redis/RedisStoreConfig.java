package dev.palisade.server.store.redis;

/**
 * @param prefix of every key and channel: letters, digits, {@code . _ - :}, 1 to 64 of them; several lock services may share a Redis
 * @param failoverGraceMillis how long after a loss nothing new is granted, so that holders come back first
 * @param init that domains which this Redis does not know are new, and were not lost
 */
public record RedisStoreConfig(RedisLinkConfig link, String prefix, long failoverGraceMillis, boolean init) {
    /** How long a waiter counts as alive after its server was last heard of. */
    static final long ALIVE_MILLIS = 10_000;
    /** Commands on their way to Redis; STORE_UNAVAILABLE beyond. */
    static final int IN_FLIGHT_MAX = 200_000;

    /** Whether {@code prefix} is one. */
    public static boolean isPrefix(String prefix) {
        return prefix.matches("[A-Za-z0-9._:-]{1,64}");
    }
}
