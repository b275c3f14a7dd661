package dev.palisade.server.store.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.netty.channel.EventLoop;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Listens to channels on a connection of its own, which is made anew while it is broken. Belongs to the loop. */
final class Channels {
    private static final long RETRY_MILLIS = 500;

    private final Dialer dialer;
    private final EventLoop loop;
    private final Set<Address> primaries;
    private final Map<String, Consumer<byte[]>> heard = new HashMap<>();
    private @Nullable StatefulRedisPubSubConnection<byte[], byte[]> connection;
    private @Nullable Address connectedTo;
    private boolean connecting;
    private boolean closed;

    /** @param primaries those that are linked now: what is published at one of a cluster is heard at each */
    Channels(Dialer dialer, Set<Address> primaries) {
        this.dialer = dialer;
        this.primaries = primaries;
        loop = dialer.loop();
    }

    void subscribe(String channel, Consumer<byte[]> consumer) {
        heard.put(channel, consumer);
        StatefulRedisPubSubConnection<byte[], byte[]> open = connection;
        if (open == null) {
            connect();
        } else {
            listen(open, channel);
        }
    }

    /** A primary was linked, or left. */
    void follow() {
        if (connectedTo != null && !primaries.contains(connectedTo)) {
            leave();
        }
        connect();
    }

    private void connect() {
        if (closed || connecting || connection != null || heard.isEmpty() || primaries.isEmpty()) {
            return;
        }
        Address address = primaries.iterator().next();
        connecting = true;
        var unusedEnd = dialer.dialPubSub(address).whenComplete((made, failure) -> {
            connecting = false;
            if (failure != null) {
                retry();
            } else if (closed || !primaries.contains(address)) {
                var unused = made.closeAsync();
                connect();
            } else {
                connected(address, made);
            }
        });
    }

    private void connected(Address address, StatefulRedisPubSubConnection<byte[], byte[]> made) {
        connection = made;
        connectedTo = address;
        made.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(byte[] channel, byte[] message) {
                Consumer<byte[]> consumer = heard.get(new String(channel, StandardCharsets.UTF_8));
                if (consumer != null && made == connection) {
                    consumer.accept(message);
                }
            }
        });
        made.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> broken) {
                loop.execute(() -> lost(made));
            }
        });
        heard.keySet().forEach(channel -> listen(made, channel));
        if (!made.isOpen()) {
            lost(made);
        }
    }

    private static void listen(StatefulRedisPubSubConnection<byte[], byte[]> open, String channel) {
        open.async().subscribe(Call.bytes(channel)).whenComplete((done, failure) -> {
            if (failure != null) {
                var unused = open.closeAsync(); // Comes back.
            }
        });
    }

    private void lost(StatefulRedisPubSubConnection<byte[], byte[]> broken) {
        if (connection == broken) {
            connection = null;
            connectedTo = null;
            retry();
        }
    }

    private void retry() {
        if (!closed) {
            var unused = loop.schedule(this::connect, RETRY_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void leave() {
        StatefulRedisPubSubConnection<byte[], byte[]> open = connection;
        connection = null;
        connectedTo = null;
        if (open != null) {
            var unused = open.closeAsync();
        }
    }

    void close() {
        closed = true;
        leave();
    }
}
