package dev.palisade.server.rpc;

import java.util.Arrays;
import java.util.Random;

/** Changes bytes the way damage and bugs do: flips, cuts, repeats, insertions, or nothing but noise. Decided by the seed alone. */
public final class Mutation {
    private static final int CHANGES_MAX = 4;
    private static final int NOISE_MAX = 200;

    private Mutation() {}

    /** {@code valid}, with one to four changes; in one of ten cases random bytes in its place. */
    public static byte[] of(byte[] valid, Random random) {
        if (random.nextInt(10) == 0) {
            byte[] noise = new byte[random.nextInt(NOISE_MAX)];
            random.nextBytes(noise);
            return noise;
        }
        byte[] bytes = valid.clone();
        for (int change = 1 + random.nextInt(CHANGES_MAX); change > 0; change--) {
            bytes = changed(bytes, random);
        }
        return bytes;
    }

    private static byte[] changed(byte[] bytes, Random random) {
        if (bytes.length == 0) {
            return new byte[] {(byte) random.nextInt()};
        }
        int at = random.nextInt(bytes.length);
        int to = Math.min(bytes.length, at + 1 + random.nextInt(8));
        return switch (random.nextInt(6)) {
            case 0 -> replaced(bytes, at, at + 1, (byte) (bytes[at] ^ (1 << random.nextInt(8))));
            case 1 -> replaced(bytes, at, at + 1, (byte) random.nextInt());
            case 2 -> replaced(bytes, at, to);
            case 3 -> Arrays.copyOf(bytes, at);
            case 4 -> replaced(bytes, at, at, Arrays.copyOfRange(bytes, at, to));
            default -> replaced(bytes, at, at, (byte) random.nextInt(), (byte) 0xff, (byte) random.nextInt());
        };
    }

    private static byte[] replaced(byte[] bytes, int from, int to, byte... by) {
        byte[] made = new byte[bytes.length - (to - from) + by.length];
        System.arraycopy(bytes, 0, made, 0, from);
        System.arraycopy(by, 0, made, from, by.length);
        System.arraycopy(bytes, to, made, from + by.length, bytes.length - to);
        return made;
    }
}
