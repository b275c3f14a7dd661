package dev.palisade.server.store.embedded;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** The used length of a file that is longer than its content: all bytes up to the last that is not zero. */
final class UsedBytes {
    private static final int BLOCK_BYTES = 1 << 18;

    private UsedBytes() {}

    /** Reads backwards, from the end of the file. */
    static int of(FileChannel file) throws IOException {
        ByteBuffer block = ByteBuffer.allocateDirect(BLOCK_BYTES);
        // Compared at once, by instructions that the JVM has for it.
        ByteBuffer zeros = ByteBuffer.allocateDirect(BLOCK_BYTES);
        long end = file.size();
        while (end > 0) {
            long start = Math.max(0, end - BLOCK_BYTES);
            block.clear().limit((int) (end - start));
            read(file, start, block);
            if (block.mismatch(zeros.slice(0, block.limit())) >= 0) {
                return Math.toIntExact(start + lastUsed(block));
            }
            end = start;
        }
        return 0;
    }

    private static void read(FileChannel file, long from, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            if (file.read(into, from + into.position()) < 0) {
                throw new EOFException("it was cut while it was read");
            }
        }
        into.flip();
    }

    private static int lastUsed(ByteBuffer block) {
        int used = block.limit();
        while (block.get(used - 1) == 0) {
            used--;
        }
        return used;
    }
}
