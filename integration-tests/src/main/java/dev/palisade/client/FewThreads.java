package dev.palisade.client;

import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import java.util.concurrent.TimeUnit;

/**
 * Threads for the clients of a whole fleet in one process. Thousands of threads, one of each client, would get all the time of a machine
 * that the lock servers run on as well. Safe to share between threads.
 */
public final class FewThreads implements AutoCloseable {
    private static final int THREADS = 2;

    private final EventLoopGroup threads = EventLoop.threads(THREADS);

    /** Has the client run on one of these threads. Close it before them. */
    public PalisadeClient.Builder run(PalisadeClient.Builder builder) {
        return builder.eventLoop(() -> EventLoop.of(threads));
    }

    @Override
    public void close() {
        boolean unused = threads.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly(2, TimeUnit.SECONDS);
    }
}
