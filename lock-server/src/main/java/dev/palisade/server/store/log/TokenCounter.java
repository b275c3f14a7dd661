package dev.palisade.server.store.log;

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
    /** A clock may be wrong, but not by more than a day. */
    private static final long AHEAD_MAX_MILLIS = 24 * 3_600_000L;

    private final boolean reserves;
    private final long base;
    private final long beganAtMillis;
    /** Written by the store's writer alone; anybody may ask how far it is. */
    private volatile long last;

    private long reserved;
    /** The largest token that is known to be issued, or may be. */
    private long known;

    /**
     * @param reserves whether tokens are reserved by a record; if not, the log itself counts them
     * @param high the largest reserved token of all epochs before; 0 for none
     * @param epochId random
     */
    TokenCounter(boolean reserves, long nowMillis, long high, int epochId) {
        this.reserves = reserves;
        this.known = high;
        this.beganAtMillis = nowMillis;
        this.base = LockMachine.epochBase(Math.max(0, nowMillis - ERA_MILLIS), high, epochId);
        this.last = base;
        reserve();
    }

    long base() {
        return base;
    }

    long beganAtMillis() {
        return beganAtMillis;
    }

    long last() {
        return last;
    }

    /**
     * The largest token that is known to be issued, or may be. The base of an epoch that issued none is no such token: else the start of an
     * epoch under a clock that was wrong for a while would be kept in memory, and another server would not know of it.
     */
    long lastKnown() {
        return known;
    }

    /** How far the tokens run ahead of the clock; 0 when they do not. */
    long aheadMillis(long nowMillis) {
        return Math.max(0, last / LockMachine.TOKENS_PER_MILLI - (nowMillis - ERA_MILLIS));
    }

    long reserved() {
        return reserves ? reserved : last;
    }

    /** Takes over what a decision issued; true when the reservation must be written before it may be answered. */
    boolean issued(long lastToken) {
        if (lastToken == last) {
            return false;
        }
        last = lastToken;
        known = lastToken;
        if (!reserves || last < reserved) {
            return false;
        }
        reserve();
        return true;
    }

    private void reserve() {
        reserved = Math.min(last + RESERVE, FencingToken.MAX);
    }

    /** A token that was issued elsewhere is known: later ones are larger. One far ahead of the clock is ignored. */
    void raise(long token, long nowMillis) {
        if (token <= (nowMillis - ERA_MILLIS + AHEAD_MAX_MILLIS) * LockMachine.TOKENS_PER_MILLI) {
            last = Math.max(last, token);
            known = Math.max(known, token);
        }
    }

    /** The log has counted so many. */
    void counted(long tokens) {
        if (tokens > last) {
            last = tokens;
            known = tokens;
        }
    }
}
