package dev.palisade.server.access;

import java.util.Set;

/**
 * One {@code limit} line of a policy.
 *
 * @param line of the file, from 1
 * @param who a principal, {@code @GROUP}, or {@code *} for every principal
 * @param sessions with a stream at a time, or in grace with something to lose; 0: not limited here
 * @param requestsPerSecond 0: not limited here
 */
record Quota(int line, String who, int sessions, int requestsPerSecond) {
    static final String SESSIONS = "sessions";
    static final String REQUESTS_PER_SECOND = "requests-per-second";

    /** By their names in the file. */
    static final Set<String> LIMITS = Set.of(SESSIONS, REQUESTS_PER_SECOND);
}
