package dev.palisade.incidents;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Lazy Lettuce connection to the current primary. Safe for several threads. */
final class LettuceConnection implements AutoCloseable {
    static final Duration TIMEOUT = Duration.ofSeconds(1);

    private final Addresses addresses;
    private final RedisClient client = RedisClient.create();
    private Node followed;
    private boolean closed;
    private @Nullable StatefulRedisConnection<String, String> connection;

    /** @param reconnecting whether Lettuce reconnects and resends commands in flight, which is its default */
    LettuceConnection(Addresses addresses, Node first, boolean reconnecting) {
        this.addresses = addresses;
        this.followed = first;
        client.setOptions(ClientOptions.builder()
                .autoReconnect(reconnecting)
                .socketOptions(SocketOptions.builder().connectTimeout(TIMEOUT).build())
                .build());
    }

    /** A node with its command interface. */
    record Open(Node node, RedisCommands<String, String> commands) {}

    /** @throws RedisException if there is no connection */
    synchronized Open open() {
        if (closed) {
            throw new RedisException("closed");
        }
        StatefulRedisConnection<String, String> there = connection;
        if (there == null) {
            String address = addresses.of(followed);
            int colon = address.lastIndexOf(':');
            there = client.connect(
                    StringCodec.UTF8,
                    RedisURI.builder()
                            .withHost(address.substring(0, colon))
                            .withPort(Integer.parseInt(address.substring(colon + 1)))
                            .withTimeout(TIMEOUT)
                            .build());
            connection = there;
        }
        return new Open(followed, there.sync());
    }

    synchronized void follow(Node primary) {
        if (primary != followed) {
            drop();
            followed = primary;
        }
    }

    /** Closes the connection; the next call connects again. */
    synchronized void drop() {
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        drop();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
