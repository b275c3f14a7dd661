package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.FenceConnection.bytes;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The hash tag of one resource, which is its name: what stands between the first brace and the next closing one of a key, or the
 * whole of a key without one. A key is guarded by the mark of its hash tag and by no other, so each key has one mark. Pure.
 */
record HashTag(String resource) {
    private static final int SHOWN_MAX = 100;

    /** @throws IllegalArgumentException for a name that cannot be a hash tag */
    static HashTag of(String resource) {
        if (resource.indexOf('}') >= 0) {
            throw new IllegalArgumentException("resource '" + resource
                    + "' cannot be a hash tag because of its closing brace; nothing was sent: name it without");
        }
        return new HashTag(resource);
    }

    /** The key of the resource's mark, which has the same hash tag as its data. */
    byte[] markKey() {
        return bytes("palisade:fence:{" + resource + "}");
    }

    /** @throws IllegalArgumentException for a key of another resource, and for the mark's own */
    void require(List<byte[]> keys) {
        byte[] tag = bytes(resource);
        byte[] markKey = markKey();
        for (byte[] key : keys) {
            if (Arrays.equals(key, markKey)) {
                throw new IllegalArgumentException("key '" + shown(key)
                        + "' is the mark of the resource itself; nothing was sent: leave it to FencedRedis");
            }
            if (!Arrays.equals(tag(key), tag)) {
                throw new IllegalArgumentException("key '" + shown(key) + "' does not belong to resource '" + resource
                        + "'; nothing was sent: its hash tag must be the resource, as in {" + resource + "}:name");
            }
        }
    }

    private static byte[] tag(byte[] key) {
        int open = indexOf(key, '{', 0);
        int close = open < 0 ? -1 : indexOf(key, '}', open + 1);
        return close <= open + 1 ? key : Arrays.copyOfRange(key, open + 1, close);
    }

    private static int indexOf(byte[] key, char wanted, int from) {
        for (int i = from; i < key.length; i++) {
            if (key[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    private static String shown(byte[] key) {
        String text = new String(key, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
        return text.length() > SHOWN_MAX ? text.substring(0, SHOWN_MAX) + "..." : text;
    }
}
