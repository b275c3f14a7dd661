package dev.palisade.server.store.redis;

/**
 * @param prefix of every key, as {@link RedisStoreConfig#isPrefix}; lock servers with the same one share a log
 * @param address where clients reach this server: host name and port
 * @param init whether an empty Redis may be taken for a new one
 * @param recoveryMillis how long after a loss nothing new is granted, so that holders come back first
 * @param claimMillis how long a claim lasts from each append; the same for all servers of a log
 * @param settleMillis how long a log that lost data waits for its last owner, and again for the best candidate
 */
public record RedisLogConfig(
        RedisLinkConfig link,
        String prefix,
        String address,
        boolean init,
        long recoveryMillis,
        long claimMillis,
        long settleMillis) {
    public static final long SETTLE_MILLIS = 1_000;
}
