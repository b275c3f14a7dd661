package dev.palisade.server.store.redis;

import io.lettuce.core.resource.EpollProvider;
import io.lettuce.core.resource.EventLoopGroupProvider;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.TimeUnit;

/**
 * The event loop of all connections to Redis: one thread. A server that gives it to the connections of its clients as well replies to
 * them on the thread that has read the reply of Redis. No task may wait on it for what only the loop can bring. Its creator closes it,
 * last: a store that is closed leaves it running. Safe for use by many threads.
 */
public final class Loop implements AutoCloseable {
    private static final long CLOSING_MAX_MILLIS = 2_000;
    /** As Lettuce decides it: its sockets and this loop have to be of one kind. */
    private static final boolean EPOLL = EpollProvider.isAvailable();

    private final SpinThenBlock strategy = new SpinThenBlock(Ticker.systemTicker()::nanoTime);

    private final MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(
            1,
            new DefaultThreadFactory("palisade-loop", true),
            EPOLL ? EpollIoHandler.newFactory(0, () -> strategy) : NioIoHandler.newFactory());

    /** The thread, as Netty wants to have it; not to be shut down. */
    public EventLoopGroup group() {
        return group;
    }

    /** The kind of socket to listen with. */
    public Class<? extends ServerChannel> serverSocket() {
        return EPOLL ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    }

    EventLoop thread() {
        return group.next();
    }

    SpinThenBlock strategy() {
        return strategy;
    }

    /** For Lettuce, which gives back what it took: nothing ends by that. */
    EventLoopGroupProvider lent() {
        return new EventLoopGroupProvider() {
            @Override
            public <T extends EventLoopGroup> T allocate(Class<T> type) {
                return type.cast(group);
            }

            @Override
            public int threadPoolSize() {
                return 1;
            }

            @Override
            public Future<Boolean> release(EventExecutorGroup lent, long quiet, long timeout, TimeUnit unit) {
                return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
            }

            @Override
            public Future<Boolean> shutdown(long quiet, long timeout, TimeUnit unit) {
                return ImmediateEventExecutor.INSTANCE.newSucceededFuture(true);
            }
        };
    }

    /** Ends the thread, with all connections that it still has. Returns when it is gone, in bounded time. Not for itself. */
    @Override
    public void close() {
        group.shutdownGracefully(0, CLOSING_MAX_MILLIS, TimeUnit.MILLISECONDS)
                .awaitUninterruptibly(CLOSING_MAX_MILLIS, TimeUnit.MILLISECONDS);
    }
}
