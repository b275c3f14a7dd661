package dev.palisade.server.store.embedded;

import java.io.File;
import java.nio.ByteBuffer;
import org.apache.activemq.artemis.core.io.IOCriticalErrorListener;
import org.apache.activemq.artemis.core.io.nio.NIOSequentialFileFactory;

/**
 * File factory of the journal, on every JDK. The library frees and clears direct buffers by Netty's internals. From JDK 24 on these
 * refuse a buffer that Netty did not allocate, and a journal that exists could not be read. Such buffers are left to the garbage
 * collector. Thread-safe as its superclass is.
 */
class JournalFileFactory extends NIOSequentialFileFactory {
    private static final int PENDING_IO_MAX = 1;

    JournalFileFactory(File folder, int bufferBytes, int bufferTimeoutNanos, IOCriticalErrorListener onError) {
        super(folder, true, bufferBytes, bufferTimeoutNanos, PENDING_IO_MAX, false, onError, null);
    }

    @Override
    public void releaseDirectBuffer(ByteBuffer buffer) {
        try {
            super.releaseDirectBuffer(buffer);
        } catch (UnsupportedOperationException e) {
            return; // Unreachable from here on.
        }
    }

    @Override
    public void releaseBuffer(ByteBuffer buffer) {
        try {
            super.releaseBuffer(buffer);
        } catch (UnsupportedOperationException e) {
            return; // The pool keeps one buffer for each thread and drops the other.
        }
    }

    @Override
    public void clearBuffer(ByteBuffer buffer) {
        for (int i = 0; i < buffer.limit(); i++) {
            buffer.put(i, (byte) 0);
        }
    }
}
