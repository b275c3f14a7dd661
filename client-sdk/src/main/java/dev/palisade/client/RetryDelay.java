package dev.palisade.client;

import dev.palisade.contract.Rejection;
import java.util.OptionalLong;

/**
 * The delay before the next retry of one call: what the server asks for, else an exponential backoff from 50 ms to 1 s.
 * Pure.
 */
final class RetryDelay {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long FIRST_MILLIS = 50;
    private static final long MAX_MILLIS = 1_000;
    /** Longest delay that a server can ask for. */
    private static final long REQUESTED_MILLIS_MAX = 10_000;

    private long nextMillis = FIRST_MILLIS;

    long nextNanos(Rejection rejection) {
        OptionalLong requested = requestedNanos(rejection);
        return requested.isPresent() ? requested.getAsLong() : nextNanos();
    }

    /** The delay that the server asks for; empty if it asks for none or for an invalid one. */
    static OptionalLong requestedNanos(Rejection rejection) {
        String millis = rejection.metadata().get(Rejection.RETRY_AFTER_MILLIS);
        try {
            return millis == null
                    ? OptionalLong.empty()
                    : OptionalLong.of(
                            Math.max(1, Math.min(REQUESTED_MILLIS_MAX, Long.parseLong(millis))) * NANOS_PER_MILLI);
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    long nextNanos() {
        long delay = nextMillis;
        nextMillis = Math.min(MAX_MILLIS, delay * 2);
        return delay * NANOS_PER_MILLI;
    }
}
