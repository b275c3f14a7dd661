package dev.palisade.client;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.IoHandlerFactory;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
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

    private final EventLoopGroup group;
    private final EventExecutor thread;
    private final Class<? extends Channel> socket;

    EventLoop() {
        boolean epoll = Epoll.isAvailable();
        IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
        group = new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory("palisade-client", true), io);
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
