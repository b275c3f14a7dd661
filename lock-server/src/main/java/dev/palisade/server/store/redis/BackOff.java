package dev.palisade.server.store.redis;

import java.util.function.LongUnaryOperator;

/** A backoff between attempts: none before the first, then growing delays with jitter, so that two servers do not retry in step. */
final class BackOff {
    static final long FIRST_MILLIS = 20;
    static final long MAX_MILLIS = 1_000;

    private final LongUnaryOperator randomBelow;
    private int tries;

    /** @param randomBelow a random number from 0 to below its argument */
    BackOff(LongUnaryOperator randomBelow) {
        this.randomBelow = randomBelow;
    }

    long nextMillis() {
        int before = tries++;
        if (before == 0) {
            return 0;
        }
        long most = Math.min(MAX_MILLIS, FIRST_MILLIS << Math.min(before - 1, 16));
        return most / 2 + randomBelow.applyAsLong(most / 2 + 1);
    }

    /** What was tried has held for a while. */
    void reset() {
        tries = 0;
    }
}
