package dev.palisade.client;

import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import io.grpc.netty.shaded.io.netty.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The event loop thread of one client: it serves the client's connections and runs its {@link Loop}, with all deadlines
 * and keep-alives. Calls that many threads submit while it is busy are sent together, in one frame with one write. Safe
 * for use by many threads.
 */
final class EventLoop implements LoopExecutor, WakeupTimer {
    private static final long SHUTDOWN_MILLIS = 500;
    /** Interval of pings on an idle connection. A NAT silently drops idle connections after some minutes. */
    private static final long PING_EVERY_MINUTES = 1;

    private final io.grpc.netty.shaded.io.netty.channel.EventLoop thread;
    private final boolean isShared;
    private final Class<? extends Channel> socket;
    /** The scheduled wake-up of the loop; accessed in the loop only. */
    private @Nullable Future<?> armed;

    EventLoop() {
        this(threads(1), false);
    }

    private EventLoop(EventLoopGroup threads, boolean isShared) {
        this.thread = threads.next();
        this.isShared = isShared;
        this.socket = Epoll.isAvailable() ? EpollSocketChannel.class : NioSocketChannel.class;
    }

    /**
     * An event loop on one of {@code threads}. Other clients may share that thread, so {@link #stop} does not stop it.
     */
    static EventLoop of(EventLoopGroup threads) {
        return new EventLoop(threads, true);
    }

    // Netty 4.2 deprecates these groups for a class that Netty 4.1, inside older grpc-netty-shaded, does not have. Both
    // extend that class in 4.2, so a newer javac names it in the verified type of "epoll ? a : b".
    @SuppressWarnings("deprecation")
    static EventLoopGroup threads(int count) {
        DefaultThreadFactory threads = new DefaultThreadFactory("palisade-client", true);
        if (Epoll.isAvailable()) {
            return new EpollEventLoopGroup(count, threads);
        }
        return new NioEventLoopGroup(count, threads);
    }

    /**
     * A channel whose connections and callbacks are this thread's.
     *
     * @param customize has the last word on the builder
     */
    ManagedChannel channel(
            String target, ChannelCredentials credentials, UnaryOperator<ManagedChannelBuilder<?>> customize) {
        // The loop does no blocking work, so the thread of the connection may run it; and it does its own retries.
        NettyChannelBuilder builder = NettyChannelBuilder.forTarget(target, credentials)
                .eventLoopGroup(thread)
                .channelType(socket)
                .directExecutor()
                .disableRetry()
                .intercept(new ReplacedTransport())
                .keepAliveTime(PING_EVERY_MINUTES, TimeUnit.MINUTES);
        return customize.apply(builder).build();
    }

    @Override
    public void execute(Runnable task) {
        if (thread.inEventLoop()) {
            task.run();
        } else {
            enqueue(task);
        }
    }

    @Override
    public void enqueue(Runnable task) {
        try {
            thread.execute(task);
        } catch (RejectedExecutionException e) {
            task.run(); // Stopped: no task is queued any more.
        }
    }

    @Override
    public void wakeIn(long delayNanos, Runnable wake) {
        try {
            if (armed != null) {
                boolean unused = armed.cancel(false);
            }
            armed = thread.schedule(wake, delayNanos, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            armed = null; // Stopped.
        }
    }

    /** Blocks until the thread has ended. Later tasks run on the thread that submits them. */
    @Override
    public void stop() {
        if (isShared) {
            return;
        }
        Future<?> end = thread.parent().shutdownGracefully(0, SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
        if (!thread.inEventLoop()) {
            // A JVM that exits waits 0.3 s for a thread that is still in epoll.
            boolean unused = end.awaitUninterruptibly(SHUTDOWN_MILLIS);
        }
    }
}
