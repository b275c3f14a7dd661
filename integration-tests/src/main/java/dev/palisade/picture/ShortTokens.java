package dev.palisade.picture;

/**
 * Short form of fencing tokens for people: the last digits after three dots, so many that a larger token reads as a larger number. Tokens of one epoch
 * differ in their last digits only, and whole ones have fifteen. Safe for many threads.
 */
public final class ShortTokens {
    private static final int DIGITS_MIN = 3;
    /** A grant of the lock server takes that many tokens. */
    private static final long PER_GRANT = 32;

    private final long headroom;
    private long first = -1;
    private int digits = DIGITS_MIN;

    /** @param grants about how many are expected, so that all of them get equally many digits; more of them get more digits */
    public ShortTokens(int grants) {
        this.headroom = grants * PER_GRANT;
    }

    /** The short form of {@code token}; the whole token where dots would save nothing. */
    public synchronized String of(long token) {
        if (first < 0) {
            first = token;
            extend(token + headroom);
        }
        extend(token);
        String whole = Long.toString(token);
        return whole.length() <= digits + 1 ? whole : "..." + whole.substring(whole.length() - digits);
    }

    /** {@link #of(long)} a token in decimal. */
    public String of(String token) {
        return of(Long.parseLong(token));
    }

    /** How many digits the tokens have so far. */
    synchronized int digits() {
        return digits;
    }

    /** Until {@code token} and the first one have all digits before the shown ones in common. */
    private void extend(long token) {
        while (digits < 18 && prefix(token) != prefix(first)) {
            digits++;
        }
    }

    private long prefix(long token) {
        long power = 1;
        for (int i = 0; i < digits; i++) {
            power *= 10;
        }
        return token / power;
    }
}
