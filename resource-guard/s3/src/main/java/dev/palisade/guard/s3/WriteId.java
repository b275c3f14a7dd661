package dev.palisade.guard.s3;

import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Random name of one write, 128 bits. It stands in the object's metadata, and as {@linkplain #trailer() white space}
 * at the end of its body: an ETag is a hash of the body alone, so without a trailer an object could get an ETag for
 * the second time.
 */
record WriteId(String hex) {
    /** Length of a trailer in bytes: a blank or a tab for each bit, and a line feed. */
    static final int TRAILER_BYTES = 129;

    private static final int BYTES = 16;
    private static final SecureRandom RANDOM = new SecureRandom();

    /** @throws IllegalArgumentException for anything but 32 hexadecimal digits */
    WriteId {
        if (HexFormat.of().parseHex(hex).length != BYTES) {
            throw new IllegalArgumentException("a write id has 32 hexadecimal digits");
        }
    }

    static WriteId random() {
        byte[] bytes = new byte[BYTES];
        RANDOM.nextBytes(bytes);
        return new WriteId(HexFormat.of().formatHex(bytes));
    }

    /** The id as {@link #TRAILER_BYTES} bytes that readers of JSON and XML skip. */
    byte[] trailer() {
        byte[] id = HexFormat.of().parseHex(hex);
        byte[] trailer = new byte[TRAILER_BYTES];
        for (int bit = 0; bit < BYTES * Byte.SIZE; bit++) {
            boolean set = (id[bit / Byte.SIZE] >> (bit % Byte.SIZE) & 1) != 0;
            trailer[bit] = (byte) (set ? '\t' : ' ');
        }
        trailer[TRAILER_BYTES - 1] = '\n';
        return trailer;
    }

    boolean isTrailer(byte[] bytes) {
        return Arrays.equals(bytes, trailer());
    }

    @Override
    public String toString() {
        return hex;
    }
}
