package dev.palisade.server.ownership;

import java.util.HexFormat;

/**
 * Identity of a log's writer: 128 random bits, new for every claim. Owners of a log are compared by nothing else.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record WriterId(long high, long low) {
    /** No writer. */
    public static final WriterId NONE = new WriterId(0, 0);

    private static final int DIGITS = 32;

    /**
     * Reads what {@link #toString} wrote.
     *
     * @throws IllegalArgumentException unless {@code text} is 32 lower-case hex digits
     */
    public static WriterId parse(String text) {
        if (text.length() != DIGITS || !text.chars().allMatch(digit -> "0123456789abcdef".indexOf(digit) >= 0)) {
            throw new IllegalArgumentException("a writer id is 32 lower-case hex digits, not '" + text + "'");
        }
        return new WriterId(
                Long.parseUnsignedLong(text.substring(0, DIGITS / 2), 16),
                Long.parseUnsignedLong(text.substring(DIGITS / 2), 16));
    }

    /** 32 lower-case hex digits. */
    @Override
    public String toString() {
        return HexFormat.of().toHexDigits(high) + HexFormat.of().toHexDigits(low);
    }
}
