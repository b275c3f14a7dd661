package dev.palisade.gateway;

import io.netty.channel.Channel;
import java.net.SocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Bound on the connections of the gateway's clients. At the bound the oldest connection without a request is closed for
 * the next one, so connections that are idle, or never finish a request's head, keep no client out. Where every
 * connection has a request, the next one is closed. Safe for use by several threads.
 */
final class ClientConnections {
    private final int max;

    /** By the client's address, the longest open first. */
    private final Map<SocketAddress, Connection> open = new LinkedHashMap<>();

    /** Of those in {@link #open}: told to close. */
    private int closing;

    private static final class Connection {
        final Channel channel;
        int requests;
        boolean isClosing;

        Connection(Channel channel) {
            this.channel = channel;
        }
    }

    /** @param max 1 or more */
    ClientConnections(int max) {
        this.max = max;
    }

    /** A client has connected. */
    void opened(Channel channel) {
        SocketAddress client = channel.remoteAddress();
        Channel tooMany = null;
        synchronized (open) {
            if (client != null) {
                if (open.size() - closing >= max) {
                    Connection idle = oldestIdle();
                    tooMany = idle == null ? channel : idle.channel;
                }
                Connection connection = new Connection(channel);
                open.put(client, connection);
                var unused = channel.closeFuture().addListener(closed -> {
                    synchronized (open) {
                        open.remove(client, connection);
                        closing -= connection.isClosing ? 1 : 0;
                    }
                });
            }
        }
        if (tooMany != null) {
            var unused = tooMany.close();
        }
    }

    private @Nullable Connection oldestIdle() {
        for (Connection each : open.values()) {
            if (each.requests == 0 && !each.isClosing) {
                each.isClosing = true;
                closing++;
                return each;
            }
        }
        return null;
    }

    /** A request of that client has arrived whose response is not complete yet. */
    void began(SocketAddress client) {
        count(client, 1);
    }

    /** One of them is complete, or given up. */
    void ended(SocketAddress client) {
        count(client, -1);
    }

    private void count(SocketAddress client, int requests) {
        synchronized (open) {
            Connection connection = open.get(client);
            if (connection != null) {
                connection.requests += requests;
            }
        }
    }
}
