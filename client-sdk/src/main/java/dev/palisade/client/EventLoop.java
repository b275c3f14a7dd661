package dev.palisade.client;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import io.grpc.netty.shaded.io.netty.util.concurrent.EventExecutor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The one thread of a client's connections, which its {@link Loop} runs on as well: what many threads ask while it is busy it finds
 * together, and sends in one frame with one write. Safe for use by many threads.
 */
final class EventLoop implements Entry {
    private static final long FAREWELL_MILLIS = 500;
    /** While nothing else is sent. A NAT that forgets idle connections does so after some minutes, and says nothing. */
    private static final long PING_EVERY_MINUTES = 1;

    private final EventLoopGroup group;
    private final EventExecutor thread;
    private final Class<? extends Channel> socket;

    // Netty 4.2 deprecates these groups for a class that Netty 4.1, inside older grpc-netty-shaded, does not have.
    @SuppressWarnings("deprecation")
    EventLoop() {
        boolean epoll = Epoll.isAvailable();
        DefaultThreadFactory threads = new DefaultThreadFactory("palisade-client", true);
        group = epoll ? new EpollEventLoopGroup(1, threads) : new NioEventLoopGroup(1, threads);
        thread = group.next();
        socket = epoll ? EpollSocketChannel.class : NioSocketChannel.class;
    }

    /** A channel whose connections and callbacks are this thread's. */
    ManagedChannel channel(String address) {
        // The loop does no blocking work, so the thread of the connection may run it; and it does its own retries.
        return NettyChannelBuilder.forTarget("dns:///" + address)
                .eventLoopGroup(group)
                .channelType(socket)
                .usePlaintext()
                .directExecutor()
                .disableRetry()
                .keepAliveTime(PING_EVERY_MINUTES, TimeUnit.MINUTES)
                .build();
    }

    @Override
    public void enter(Runnable task) {
        if (thread.inEventLoop()) {
            task.run();
        } else {
            behind(task);
        }
    }

    @Override
    public void behind(Runnable task) {
        try {
            thread.execute(task);
        } catch (RejectedExecutionException e) {
            task.run(); // Stopped: there is nothing left to wait for.
        }
    }

    /** Tasks that come later are run by whoever brings them. */
    void stop() {
        var unused = group.shutdownGracefully(0, FAREWELL_MILLIS, TimeUnit.MILLISECONDS);
    }
}
