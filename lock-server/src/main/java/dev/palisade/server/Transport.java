package dev.palisade.server;

import dev.palisade.server.core.Limits;
import io.grpc.ServerCredentials;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** HTTP/2 transport of a lock server, with every limit that holds below the rpcs. Not safe for use by several threads. */
final class Transport implements AutoCloseable {
    static final int FRAME_BYTES_MAX = 1 << 20;
    static final int HEADER_BYTES_MAX = 8 << 10;
    /** Beyond it, a client's calls wait in the client. */
    static final int CALLS_PER_CONNECTION_MAX = 1_000;

    /** Streams that a client may reset in {@link #RESETS_WINDOW_SECONDS}; beyond, its connection is closed. */
    static final int RESETS_MAX = 2_000;

    static final int RESETS_WINDOW_SECONDS = 10;
    /** For TLS, after the first bytes came within {@link ConnectionLimit#HANDSHAKE_MILLIS}. */
    static final long HANDSHAKE_MILLIS = 10_000;
    /** A connection without calls is closed after so long. */
    static final long IDLE_CONNECTION_MILLIS = 60_000;

    private final EventLoopGroup threads;
    private final boolean own;
    private final Supplier<ServerChannel> listening;

    private Transport(EventLoopGroup threads, boolean own, Supplier<ServerChannel> listening) {
        this.threads = threads;
        this.own = own;
        this.listening = listening;
    }

    /** With threads of its own. */
    static Transport own() {
        boolean epoll = Epoll.isAvailable();
        return new Transport(
                new MultiThreadIoEventLoopGroup(
                        0,
                        new DefaultThreadFactory("palisade-clients", true),
                        epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory()),
                true,
                epoll ? EpollServerSocketChannel::new : NioServerSocketChannel::new);
    }

    /** On the thread of another; its owner closes it. */
    static Transport on(EventLoopGroup threads, Class<? extends ServerChannel> kind) {
        return new Transport(
                threads,
                false,
                kind == EpollServerSocketChannel.class ? EpollServerSocketChannel::new : NioServerSocketChannel::new);
    }

    NettyServerBuilder listen(
            InetSocketAddress address, ServerCredentials credentials, ConnectionLimit connections, Limits limits) {
        return NettyServerBuilder.forAddress(address, credentials)
                .bossEventLoopGroup(threads)
                .workerEventLoopGroup(threads)
                .channelFactory(() -> {
                    ServerChannel channel = listening.get();
                    channel.pipeline().addLast(connections); // Before gRPC's own handlers.
                    return channel;
                })
                .directExecutor()
                .maxInboundMessageSize(FRAME_BYTES_MAX)
                .maxInboundMetadataSize(HEADER_BYTES_MAX)
                .maxConcurrentCallsPerConnection(CALLS_PER_CONNECTION_MAX)
                .maxRstFramesPerWindow(RESETS_MAX, RESETS_WINDOW_SECONDS)
                .handshakeTimeout(HANDSHAKE_MILLIS, TimeUnit.MILLISECONDS)
                .maxConnectionIdle(IDLE_CONNECTION_MILLIS, TimeUnit.MILLISECONDS)
                // Past the longest lease: silence alone must not end one early.
                .keepAliveTime(limits.ttlMaxMillis() + 60_000, TimeUnit.MILLISECONDS)
                .permitKeepAliveTime(1, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .intercept(connections);
    }

    @Override
    public void close() {
        if (own) {
            var unused = threads.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }
}
