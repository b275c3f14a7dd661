package dev.palisade.server.store.embedded;

import java.nio.ByteBuffer;

/** The used length of a file that is longer than its content: all bytes up to the last that is not zero. */
final class UsedBytes {
    /** Compared at once, by instructions that the JVM has for it. */
    private static final ByteBuffer ZEROS = ByteBuffer.allocate(1 << 16);

    private UsedBytes() {}

    /** Counts from the beginning of the buffer to its limit, wherever its position is. */
    static int of(ByteBuffer bytes) {
        int end = bytes.limit();
        while (end > 0) {
            int start = Math.max(0, end - ZEROS.capacity());
            ByteBuffer block = bytes.slice(start, end - start);
            if (block.mismatch(ZEROS.slice(0, end - start)) >= 0) {
                return start + lastUsed(block);
            }
            end = start;
        }
        return 0;
    }

    private static int lastUsed(ByteBuffer block) {
        int used = block.limit();
        while (block.get(used - 1) == 0) {
            used--;
        }
        return used;
    }
}
