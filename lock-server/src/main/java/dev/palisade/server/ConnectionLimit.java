package dev.palisade.server;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.server.metrics.Listener;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SslHandler;
import java.lang.management.ManagementFactory;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * Bound on the connections of one server, below the process's limit of open files. At the bound the oldest connection without a call
 * gives way to the next one, so idle connections keep no client out; where every connection has calls, the next one is closed. A
 * connection that does not begin as HTTP/2 in time is closed. Safe for use by many threads.
 */
@Sharable
final class ConnectionLimit extends ChannelInboundHandlerAdapter implements ServerInterceptor {
    /** The bound where open files allow it. */
    static final int CONNECTIONS_MAX = 20_000;

    /** Descriptors that stay free for the journal's next files, keys and the store's own connections. */
    static final int DESCRIPTORS_RESERVED = 128;

    /** How long a connection may take to send HTTP/2's preface, in milliseconds. */
    static final long HANDSHAKE_MILLIS = 10_000;

    /** A certificate that lasts longer is none of ours. */
    private static final long EXPIRY_MAX_MILLIS = TimeUnit.DAYS.toMillis(3_650);

    /** How long calls on a connection may take to end when all connections are ended, in milliseconds. */
    private static final long CLOSE_MILLIS = 1_000;

    /** Descriptors of the reserve that connections on their way to be closed may take. */
    private static final int CLOSING_MAX = DESCRIPTORS_RESERVED / 2;

    private static final int CONNECTIONS_LEAST = 16;
    private static final int PREFACE_BYTES = 24;

    private final int max;
    private final EventLog events;
    private final TlsHandshakes handshakes;
    private final Consumer<SocketAddress> expired;
    /** By the client's address, the longest open first. */
    private final Map<SocketAddress, Connection> open = new LinkedHashMap<>();

    private static final class Connection {
        final Channel channel;
        int calls;
        /** Told to close; its descriptor is free when its event loop has come to it. */
        boolean closing;

        Connection(Channel channel) {
            this.channel = channel;
        }
    }

    /**
     * @param max 1 or more
     * @param expired notified of a client right before its connection is ended, because its certificate has expired
     */
    ConnectionLimit(int max, EventLog events, Consumer<SocketAddress> expired) {
        this.max = max;
        this.expired = expired;
        this.events = events;
        this.handshakes = new TlsHandshakes(events);
    }

    /** Of the port with this limit. */
    TlsHandshakes handshakes() {
        return handshakes;
    }

    /**
     * How many connections the limit of open files leaves room for, at most {@link #CONNECTIONS_MAX}.
     *
     * @throws CannotStart when that is too few to serve
     */
    static int fromOpenFiles() throws CannotStart {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                ? within(unix.getMaxFileDescriptorCount(), unix.getOpenFileDescriptorCount())
                : CONNECTIONS_MAX;
    }

    static int within(long filesMax, long filesOpen) throws CannotStart {
        long room = filesMax - filesOpen - DESCRIPTORS_RESERVED;
        if (room < CONNECTIONS_LEAST) {
            throw new CannotStart(
                    "the limit of open files is " + filesMax + ", which leaves no room for connections; raise it"
                            + " (ulimit -n) to " + (filesOpen + DESCRIPTORS_RESERVED + CONNECTIONS_LEAST) + " or more");
        }
        return (int) Math.min(CONNECTIONS_MAX, room);
    }

    // ---- on the listening channel ----

    @Override
    public void channelRead(ChannelHandlerContext listening, Object message) {
        Channel child = (Channel) message;
        if (!admit(child)) {
            child.unsafe().closeForcibly();
            return;
        }
        child.pipeline().addLast(new Handshake());
        listening.fireChannelRead(message);
    }

    private boolean admit(Channel child) {
        Channel idle = null;
        synchronized (open) {
            if (open.size() >= max) {
                idle = open.size() < max + CLOSING_MAX ? oldestIdle() : null;
                if (idle == null) {
                    events.tell("connection_refused", "limit", "connectionsMax", "max", max);
                    return false;
                }
            }
            SocketAddress client = child.remoteAddress();
            if (client == null) {
                return false; // Gone already.
            }
            Connection connection = new Connection(child);
            open.put(client, connection);
            var unused = child.closeFuture().addListener(closed -> {
                synchronized (open) {
                    open.remove(client, connection);
                }
            });
        }
        if (idle != null) {
            events.tell("connection_closed", "limit", "connectionsMax", "max", max, "idle", idle.remoteAddress());
            var unused = idle.close();
        }
        return true;
    }

    /** How many are open. */
    int open() {
        synchronized (open) {
            return open.size();
        }
    }

    /**
     * Ends every open connection, and after {@link #CLOSE_MILLIS} the calls that are still open on it. Clients that may come
     * back do so at once, and keep their leases.
     */
    void closeAll() {
        List<Connection> all;
        synchronized (open) {
            all = List.copyOf(open.values());
        }
        all.forEach(each -> close(each.channel));
    }

    private static void close(Channel channel) {
        var unused = channel.close();
        var unusedEnd = channel.eventLoop().schedule(() -> end(channel), CLOSE_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** A certificate is verified in the handshake only, and a connection can outlive it. */
    private void closeAtExpiry(Channel channel, SslHandler tls) {
        SocketAddress peer = channel.remoteAddress();
        long millis = millisToExpiry(tls.engine().getSession(), System.currentTimeMillis());
        if (peer == null || millis > EXPIRY_MAX_MILLIS) {
            return;
        }
        Future<?> expiry = channel.eventLoop()
                .schedule(
                        () -> {
                            expired.accept(peer);
                            events.tell("connection_closed", "certificate", "expired", "peer", peer);
                            close(channel);
                        },
                        Math.max(0, millis),
                        TimeUnit.MILLISECONDS);
        var unused = channel.closeFuture().addListener(closed -> expiry.cancel(false));
    }

    /** {@link Long#MAX_VALUE} if the client showed no certificate. */
    static long millisToExpiry(SSLSession session, long nowMillis) {
        try {
            return Stream.of(session.getPeerCertificates())
                    .filter(X509Certificate.class::isInstance)
                    .mapToLong(certificate -> ((X509Certificate) certificate)
                                    .getNotAfter()
                                    .toInstant()
                                    .toEpochMilli()
                            - nowMillis)
                    .min()
                    .orElse(Long.MAX_VALUE);
        } catch (SSLPeerUnverifiedException e) {
            return Long.MAX_VALUE;
        }
    }

    /** Not by gRPC's handler, which waits for open streams without a limit: a session's stream has no end of its own. */
    private static void end(Channel channel) {
        ChannelHandlerContext first = channel.pipeline().firstContext();
        if (first != null) {
            var unused = first.close();
        }
    }

    private @Nullable Channel oldestIdle() {
        for (Connection each : open.values()) {
            if (each.calls == 0 && !each.closing) {
                each.closing = true;
                return each.channel;
            }
        }
        return null;
    }

    // ---- calls ----

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        SocketAddress client = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
        count(client, 1);
        ServerCall.Listener<Q> listener;
        try {
            listener = next.startCall(call, headers);
        } catch (RuntimeException | Error e) {
            count(client, -1);
            throw e;
        }
        return new SimpleForwardingServerCallListener<>(listener) {
            @Override
            public void onComplete() {
                count(client, -1);
                super.onComplete();
            }

            @Override
            public void onCancel() {
                count(client, -1);
                super.onCancel();
            }
        };
    }

    private void count(@Nullable SocketAddress client, int calls) {
        synchronized (open) {
            Connection connection = open.get(client);
            if (connection != null) {
                connection.calls += calls;
            }
        }
    }

    /** Closes a connection on which too few bytes come in for HTTP/2's preface. */
    private final class Handshake extends ChannelInboundHandlerAdapter {
        private long bytes;

        @Override
        public void channelRegistered(ChannelHandlerContext connection) {
            var unused = connection
                    .executor()
                    .schedule(() -> endIfLate(connection), HANDSHAKE_MILLIS, TimeUnit.MILLISECONDS);
            connection.fireChannelRegistered();
        }

        private void endIfLate(ChannelHandlerContext connection) {
            if (bytes < PREFACE_BYTES) {
                var unused = connection.close();
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext connection, Object message) {
            SslHandler tls = bytes == 0 ? connection.pipeline().get(SslHandler.class) : null;
            if (tls != null) {
                handshakes.observe(Listener.LOCKS, connection.channel(), tls);
                Channel channel = connection.channel();
                var unused = tls.handshakeFuture().addListener(done -> {
                    if (done.isSuccess()) {
                        closeAtExpiry(channel, tls);
                    }
                });
            }
            if (message instanceof ByteBuf read) {
                bytes += read.readableBytes();
            }
            if (bytes >= PREFACE_BYTES) {
                connection.pipeline().remove(this);
            }
            connection.fireChannelRead(message);
        }
    }
}
