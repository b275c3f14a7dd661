package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.grpc.ClientCertificates;
import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.server.admin.AdminApi;
import dev.palisade.server.metrics.Listener;
import dev.palisade.server.metrics.ServerMetrics;
import dev.palisade.server.rpc.Authentication;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * HTTP port for monitoring and the admin page, on a thread of its own: it delays no lock. A connection has one request and ends
 * within {@link Times#connectionMillis}, unless {@link EventStreams} keeps it; so slow clients hold nothing for long. Thread-safe.
 */
final class AdminPort implements AutoCloseable {
    /**
     * @param connectionMillis how long a connection may last, from accept to the last byte of the response
     * @param streamMillis how often an event stream repeats its request
     */
    record Times(long connectionMillis, long streamMillis) {
        static final Times DEFAULTS = new Times(10_000, 1_000);
    }

    /** Open at one time; for one more the oldest without a whole request is closed, else the new one. */
    static final int CONNECTIONS_MAX = 64;

    static final int LINE_BYTES_MAX = 4 << 10;
    static final int HEADER_BYTES_MAX = 8 << 10;
    /** Of a request to the API. */
    static final int BODY_BYTES_MAX = 4 << 10;

    private static final int CHUNK_BYTES_MAX = 8 << 10;

    private final EventLoopGroup thread;
    /** As configured: the channel of 0.0.0.0 gives the address of IPv6. */
    private final InetAddress host;

    private final EventStreams streams;
    private final Channel listening;
    private final boolean isTls;

    private AdminPort(EventLoopGroup thread, InetAddress host, EventStreams streams, Channel listening, boolean isTls) {
        this.thread = thread;
        this.host = host;
        this.streams = streams;
        this.listening = listening;
        this.isTls = isTls;
    }

    /**
     * Listens from now on.
     *
     * @param tls of the lock port; null for plaintext
     * @param authentication of the lock port; null if metrics are open to all that can connect
     * @param unready why locks are not served; empty while they are
     * @param handshakes counts those that fail
     */
    static AdminPort open(
            InetSocketAddress address,
            @Nullable ReloadableTls tls,
            @Nullable Authentication authentication,
            ServerMetrics metrics,
            Supplier<Optional<String>> unready,
            AdminApi api,
            TlsHandshakes handshakes,
            Times times)
            throws CannotStart {
        EventLoopGroup thread = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("palisade-admin", true), NioIoHandler.newFactory());
        EventStreams streams = new EventStreams(api, thread.next(), times.streamMillis());
        AtomicInteger connections = new AtomicInteger();
        Set<Channel> silent = new LinkedHashSet<>(); // Without a whole request, oldest first; on the one thread only.
        ClientVerification certificates = tls == null ? null : tls.clientVerification();
        SslContext context = tls == null ? null : context(tls);
        ChannelFuture bound = new ServerBootstrap()
                .group(thread)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel connection) {
                        if (connections.incrementAndGet() > CONNECTIONS_MAX) {
                            Iterator<Channel> oldest = silent.iterator();
                            if (!oldest.hasNext()) {
                                connections.decrementAndGet();
                                var unused = connection.close();
                                return;
                            }
                            var unused = oldest.next().close();
                        }
                        silent.add(connection);
                        var unusedCount = connection.closeFuture().addListener(closed -> {
                            silent.remove(connection);
                            connections.decrementAndGet();
                        });
                        Future<?> deadline = connection
                                .eventLoop()
                                .schedule(
                                        () -> {
                                            var unusedClose = connection.close();
                                        },
                                        times.connectionMillis(),
                                        TimeUnit.MILLISECONDS);
                        if (context != null) {
                            SslHandler handshake = context.newHandler(connection.alloc());
                            connection.pipeline().addLast(handshake);
                            handshakes.observe(Listener.ADMIN, connection, handshake);
                        }
                        connection
                                .pipeline()
                                .addLast(new HttpServerCodec(new HttpDecoderConfig()
                                        .setMaxInitialLineLength(LINE_BYTES_MAX)
                                        .setMaxHeaderSize(HEADER_BYTES_MAX)
                                        .setMaxChunkSize(CHUNK_BYTES_MAX)))
                                .addLast(new HttpServerExpectContinueHandler())
                                .addLast(new AdminHandler(
                                        metrics,
                                        certificates,
                                        authentication,
                                        unready,
                                        api,
                                        streams,
                                        deadline,
                                        () -> silent.remove(connection)));
                    }
                })
                .bind(address)
                .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            stop(thread);
            Throwable cause = bound.cause();
            throw new CannotStart("cannot listen on " + address.getHostString() + ":" + address.getPort() + " ("
                    + (cause == null ? "no reason" : cause.getMessage())
                    + "); choose another with --admin-host and --admin-port");
        }
        return new AdminPort(thread, address.getAddress(), streams, bound.channel(), tls != null);
    }

    private static SslContext context(ReloadableTls tls) throws CannotStart {
        SslContextBuilder builder =
                SslContextBuilder.forServer(tls.keyManager()).sslProvider(SslProvider.JDK);
        if (tls.verifiesClients()) {
            builder.trustManager(tls.trustManager())
                    .clientAuth(
                            tls.clientCertificates() == ClientCertificates.REQUIRED
                                    ? ClientAuth.REQUIRE
                                    : ClientAuth.OPTIONAL);
        }
        try {
            return builder.build();
        } catch (SSLException e) {
            throw new CannotStart("--admin-port cannot use the TLS files (" + e.getMessage() + "); check --tls-cert");
        }
    }

    int port() {
        return ((InetSocketAddress) listening.localAddress()).getPort();
    }

    /** Ends the connections that last; their clients may come back, with a handshake of their own. */
    void endStreams() {
        thread.execute(streams::endAll);
    }

    /** For people: the address of its page. */
    String shown() {
        String text = host.getHostAddress();
        return (isTls ? "https://" : "http://") + (text.contains(":") ? "[" + text + "]" : text) + ":" + port();
    }

    @Override
    public void close() {
        stop(thread);
    }

    private static void stop(EventLoopGroup thread) {
        var unused = thread.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
