package dev.palisade.bench;

import java.util.concurrent.CompletionStage;

/**
 * A lock service as one client process has it. Every caller of the process shares it, so it is safe for use by many threads. It
 * measures nothing.
 */
interface Locks extends AutoCloseable {
    /** A lock that is held. */
    interface Hold {
        /** Gives it back, and returns when that is confirmed. */
        void release() throws Exception;

        /** {@link #release} without blocking, where the library can; whoever is told must not block either. */
        CompletionStage<?> releaseAsync();
    }

    /** Takes {@code name}, waiting until it is free. */
    Hold acquire(String name) throws Exception;

    /** {@link #acquire} without blocking. */
    CompletionStage<Hold> acquireAsync(String name);

    @Override
    void close();
}
