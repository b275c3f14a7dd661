package dev.palisade.server.store.postgresql;

import java.time.Duration;

/**
 * Configuration of a log in PostgreSQL.
 *
 * @param timeout how long PostgreSQL may take to answer, or to take a connection, until it is given up; 10 ms to 1 min
 * @param log name of the log; lock servers with the same one share it
 * @param address where clients reach this server: host name and port
 * @param init whether an empty log is a new one: nothing was lost
 * @param recoveryMillis how long after a loss nothing new is granted, so that holders come back first
 * @param claimMillis how long a claim lasts from each append; the same for all servers of a log
 * @param settleMillis how long a log that lost data waits for its last owner, and again for the best candidate
 * @param settings of this server, which all servers of the log should have, as options: compared, and used for nothing else
 */
public record PostgresLogConfig(
        PostgresUri uri,
        Duration timeout,
        String log,
        String address,
        boolean init,
        long recoveryMillis,
        long claimMillis,
        long settleMillis,
        String settings) {
    int timeoutMillis() {
        return Math.toIntExact(timeout.toMillis());
    }
}
