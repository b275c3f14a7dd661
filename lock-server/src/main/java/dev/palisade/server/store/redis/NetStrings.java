package dev.palisade.server.store.redis;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads what a function wrote one behind the other: the length in digits, a colon, so many bytes. */
final class NetStrings {
    private NetStrings() {}

    /** @throws IllegalArgumentException when it is cut or was never such */
    static List<Object> of(byte[] bytes) {
        List<Object> all = new ArrayList<>();
        int at = 0;
        while (at < bytes.length) {
            int length = 0;
            while (at < bytes.length && bytes[at] != ':') {
                int digit = bytes[at++] - '0';
                if (digit < 0 || digit > 9 || length > bytes.length) {
                    throw new IllegalArgumentException("not a length at byte " + at);
                }
                length = 10 * length + digit;
            }
            int from = at + 1;
            if (length > bytes.length - from) {
                throw new IllegalArgumentException("cut at byte " + bytes.length);
            }
            all.add(Arrays.copyOfRange(bytes, from, from + length));
            at = from + length;
        }
        return all;
    }
}
