package dev.palisade.contract;

import java.io.Serializable;

/**
 * The number that orders grants: a later grant of a lock has the larger token. It belongs to the grant for good;
 * renewing or resuming never changes it.
 *
 * @param value 1 to 2<sup>53</sup>&minus;1, so that Lua, JSON and JavaScript hold it exactly
 */
public record FencingToken(long value) implements Comparable<FencingToken>, Serializable {
    /** A grant's own tokens: the one it is known by, and those right above it, for the turns that its client passes on. */
    public static final int PER_GRANT = 32;

    /** The largest token. A server that would pass it answers TOKENS_EXHAUSTED. */
    public static final long MAX = (1L << 53) - 1;

    /** @throws RejectedException MALFORMED_REQUEST when out of range */
    public FencingToken {
        if (value < 1 || value > MAX) {
            throw RejectedException.malformed("fencing token " + value + " is not in 1.." + MAX);
        }
    }

    /** That of a turn of the grant that is known by this one: 0 is the grant's first, and this token itself. */
    public FencingToken turn(int turn) {
        return new FencingToken(value + turn);
    }

    /** Whether {@code token} is that of one of the turns of the grant whose first this is. */
    public boolean isOfSameGrant(long token) {
        return token >= value && token < value + PER_GRANT;
    }

    @Override
    public int compareTo(FencingToken other) {
        return Long.compare(value, other.value);
    }

    @Override
    public String toString() {
        return Long.toString(value);
    }
}
