package dev.palisade.server.store.embedded;

import dev.palisade.contract.FencingToken;
import dev.palisade.server.core.LockMachine;

/**
 * The counter of fencing tokens. Every start is a new epoch, larger than anything that may have been issued before: not
 * the last token is kept but one that no token passes until a larger one is on disk.
 */
final class TokenCounter {
    /** Tokens reserved by one write. */
    static final long RESERVE = 1L << 16;
    /** 2024-01-01T00:00Z. */
    private static final long ERA_MILLIS = 1_704_067_200_000L;

    private final long base;
    /** Written by the store's writer alone; anybody may ask how far it is. */
    private volatile long last;

    private long reserved;

    /**
     * @param high the largest reserved token of all epochs before; 0 for none
     * @param epochId random
     */
    TokenCounter(long nowMillis, long high, int epochId) {
        this.base = LockMachine.epochBase(Math.max(0, nowMillis - ERA_MILLIS), high, epochId);
        this.last = base;
        reserve();
    }

    long base() {
        return base;
    }

    long last() {
        return last;
    }

    /** How far the tokens run ahead of the clock; 0 when they do not. */
    long aheadMillis(long nowMillis) {
        return Math.max(0, last / LockMachine.TOKENS_PER_MILLI - (nowMillis - ERA_MILLIS));
    }

    long reserved() {
        return reserved;
    }

    /** Takes over what a decision issued; true when the reservation must be written before it may be answered. */
    boolean issued(long lastToken) {
        if (lastToken == last) {
            return false;
        }
        last = lastToken;
        if (last < reserved) {
            return false;
        }
        reserve();
        return true;
    }

    private void reserve() {
        reserved = Math.min(last + RESERVE, FencingToken.MAX);
    }
}
