package dev.palisade.client;

import dev.palisade.contract.Rejection;

/** When to try again after a refusal that may pass: when the server says, else 50 ms doubling to 1 s. Pure. */
final class Retry {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long FIRST_MILLIS = 50;
    private static final long MAX_MILLIS = 1_000;
    /** No server may silence a client for longer. */
    private static final long TOLD_MILLIS_MAX = 10_000;

    private long nextMillis = FIRST_MILLIS;

    long delayNanos(Rejection rejection) {
        String told = rejection.metadata().get(Rejection.RETRY_AFTER_MILLIS);
        if (told != null) {
            try {
                return Math.max(1, Math.min(TOLD_MILLIS_MAX, Long.parseLong(told))) * NANOS_PER_MILLI;
            } catch (NumberFormatException e) {
                // As if it had said nothing.
            }
        }
        return delayNanos();
    }

    long delayNanos() {
        long delay = nextMillis;
        nextMillis = Math.min(MAX_MILLIS, delay * 2);
        return delay * NANOS_PER_MILLI;
    }
}
