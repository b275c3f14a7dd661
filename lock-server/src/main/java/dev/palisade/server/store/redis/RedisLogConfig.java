package dev.palisade.server.store.redis;

/**
 * @param prefix of every key, as {@link #isPrefix}; lock servers with the same one share a log
 * @param address where clients reach this server: host name and port
 * @param start what may be found when there is no log yet
 * @param recoveryMillis how long after a loss nothing new is granted, so that holders come back first
 * @param claimMillis how long a claim lasts from each append; the same for all servers of a log
 * @param settleMillis how long a log that lost data waits for its last owner, and again for the best candidate
 * @param settings of this server, which all servers of the log should have, as options: compared, and used for nothing else
 */
public record RedisLogConfig(
        RedisLinkConfig link,
        String prefix,
        String address,
        Start start,
        long recoveryMillis,
        long claimMillis,
        long settleMillis,
        String settings) {
    /** Whether it is one: letters, digits, {@code . _ - :}, 1 to 64 of them. */
    public static boolean isPrefix(String prefix) {
        return prefix.matches("[A-Za-z0-9._:-]{1,64}");
    }

    /** What a server may find where there is no log yet. */
    public enum Start {
        /** Perhaps a log was lost: it settles, and there is a recovery window. */
        CAREFUL,
        /** A Redis that is new: nothing was lost. */
        NEW,
        /** Locks that servers of an earlier release kept in functions: the log takes their place, with a recovery window. */
        FROM_FUNCTIONS
    }
}
