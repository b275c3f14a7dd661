package dev.palisade.server.access;

import java.util.List;

/**
 * One {@code limit} line of a policy.
 *
 * @param line of the file, from 1
 * @param who a principal, {@code @GROUP}, or {@code *} for every principal
 * @param sessions with a stream at a time, or in grace with something to lose; 0: not limited here
 * @param requestsPerSecond 0: not limited here
 * @param locks held or waited for at a time; 0: not limited here
 * @param waiters of these, requests that wait; 0: not limited here
 */
record Quota(int line, String who, int sessions, int requestsPerSecond, int locks, int waiters) {
    static final String SESSIONS = "sessions";
    static final String REQUESTS_PER_SECOND = "requests-per-second";
    static final String LOCKS = "locks";
    static final String WAITERS = "waiters";

    /** By their names in the file. */
    static final List<String> LIMITS = List.of(SESSIONS, LOCKS, WAITERS, REQUESTS_PER_SECOND);
}
