package dev.palisade.client;

import dev.palisade.contract.Rejection;
import java.util.OptionalLong;

/** When to try again after a refusal that may pass: when the server says, else 50 ms doubling to 1 s. Pure. */
final class Retry {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long FIRST_MILLIS = 50;
    private static final long MAX_MILLIS = 1_000;
    /** No server may silence a client for longer. */
    private static final long TOLD_MILLIS_MAX = 10_000;

    private long nextMillis = FIRST_MILLIS;

    long delayNanos(Rejection rejection) {
        OptionalLong told = toldNanos(rejection);
        return told.isPresent() ? told.getAsLong() : delayNanos();
    }

    /** When the server says, from now; empty if it says nothing of use. */
    static OptionalLong toldNanos(Rejection rejection) {
        String told = rejection.metadata().get(Rejection.RETRY_AFTER_MILLIS);
        try {
            return told == null
                    ? OptionalLong.empty()
                    : OptionalLong.of(Math.max(1, Math.min(TOLD_MILLIS_MAX, Long.parseLong(told))) * NANOS_PER_MILLI);
        } catch (NumberFormatException e) {
            return OptionalLong.empty();
        }
    }

    long delayNanos() {
        long delay = nextMillis;
        nextMillis = Math.min(MAX_MILLIS, delay * 2);
        return delay * NANOS_PER_MILLI;
    }
}
