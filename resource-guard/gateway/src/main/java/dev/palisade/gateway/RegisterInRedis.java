package dev.palisade.gateway;

import dev.palisade.guard.MarkStore;
import dev.palisade.guard.redis.RedisRegister;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SocketOptions.KeepAliveOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.PubSubCommandHandler;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.timeout.ReadTimeoutHandler;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A register in one Redis, and the connection to it. A connection that broke is made again; meanwhile the guard's steps fail at once.
 * One on which nothing came for a lease is given up: the guard renews its lease on it several times in that time.
 */
final class RegisterInRedis implements OpenRegister {
    private static final Duration CONNECT_MAX = Duration.ofSeconds(5);
    private static final Duration RECONNECT_DELAY_MAX = Duration.ofMillis(500);
    private static final Duration CLOSING_MAX = Duration.ofSeconds(2);
    private static final int RETRIES = 3;

    /** Lettuce's words for a greeting that was cut short: the moment decides which. */
    private static final Set<String> CLOSED_EARLY =
            Set.of("Connection closed prematurely", "RedisHandshakeHandler not registered");

    private final String name;
    private final Duration lease;
    private final ClientResources resources;
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final StatefulRedisPubSubConnection<String, String> listening;

    /**
     * @param password empty: none
     * @throws IOException in one line, when there is no connection
     */
    RegisterInRedis(RedisAddress address, String user, String password, String name, Duration lease)
            throws IOException {
        this.name = name;
        this.lease = lease;
        SslOptions ssl = ssl(address);
        resources = DefaultClientResources.builder()
                .reconnectDelay(Delay.exponential(Duration.ofMillis(1), RECONNECT_DELAY_MAX, 2, TimeUnit.MILLISECONDS))
                .nettyCustomizer(new NettyCustomizer() {
                    @Override
                    public void afterChannelInitialized(Channel channel) {
                        if (channel.pipeline().get(PubSubCommandHandler.class) == null) { // It may be silent for long.
                            channel.pipeline()
                                    .addFirst(new ReadTimeoutHandler(lease.toMillis(), TimeUnit.MILLISECONDS));
                        }
                    }
                })
                .build();
        client = RedisClient.create(resources);
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build())
                .maintNotificationsConfig(MaintNotificationsConfig.disabled())
                .protocolVersion(ProtocolVersion.RESP2)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(CONNECT_MAX)
                        .keepAlive(KeepAliveOptions.builder().enable().build())
                        .build())
                .sslOptions(ssl)
                .build());
        try {
            RedisURI uri = uri(address, user, password);
            connection = connected(() -> client.connect(uri));
            listening = connected(() -> client.connectPubSub(uri));
        } catch (RedisException e) {
            shutDown();
            throw new IOException(
                    "cannot connect to the register at " + address + " (" + why(e)
                            + "); is it up, and are redis, user and password-file of register right?",
                    e);
        }
    }

    /** Connects again when the greeting was cut short: Lettuce may have lost the error that Redis sent. */
    private static <T> T connected(Supplier<T> connect) {
        for (int retries = RETRIES; ; retries--) {
            try {
                return connect.get();
            } catch (RedisException e) {
                if (retries == 0 || !isClosedEarly(e)) {
                    throw e;
                }
            }
        }
    }

    private static boolean isClosedEarly(Throwable failure) {
        return CLOSED_EARLY.contains(String.valueOf(root(failure).getMessage()));
    }

    private static Throwable root(Throwable failure) {
        return failure.getCause() == null ? failure : root(failure.getCause());
    }

    private static RedisURI uri(RedisAddress address, String user, String password) {
        RedisURI uri = RedisURI.create(address.server().host(), address.server().port());
        uri.setTimeout(CONNECT_MAX); // Of the greeting.
        uri.setSsl(address.tls());
        uri.setLibraryName(""); // Else it is sent, and a Redis before 7.2 replies with errors.
        uri.setLibraryVersion("");
        if (!user.isEmpty()) {
            uri.setAuthentication(user, password.toCharArray());
        } else if (!password.isEmpty()) {
            uri.setAuthentication(password.toCharArray());
        }
        return uri;
    }

    /** @throws IOException in one line, when a file cannot be read */
    static SslOptions ssl(RedisAddress address) throws IOException {
        SslOptions.Builder ssl = SslOptions.builder().jdkSslProvider();
        Path authorities = readable(address.authorities(), "ca");
        if (authorities != null) {
            ssl.trustManager(authorities.toFile());
        }
        Path certificate = readable(address.certificate(), "cert");
        Path key = readable(address.key(), "key");
        if (certificate != null && key != null) {
            ssl.keyManager(certificate.toFile(), key.toFile(), null);
        }
        return ssl.build();
    }

    private static @Nullable Path readable(@Nullable Path file, String parameter) throws IOException {
        if (file != null && !Files.isReadable(file)) {
            throw new IOException("certificate file " + file + " cannot be read; name a PEM file in " + parameter
                    + "= of redis below register");
        }
        return file;
    }

    /** In the words of the lock server. */
    static String why(Throwable failure) {
        if (isClosedEarly(failure)) {
            return "it closed the connection";
        }
        Throwable cause = failure;
        while (cause.getCause() != null) {
            if (cause instanceof SSLException) {
                return "TLS: " + oneLine(cause);
            }
            cause = cause.getCause();
        }
        if (cause instanceof ConnectTimeoutException) {
            return "no answer";
        }
        if (cause instanceof UnknownHostException) {
            return "no such host";
        }
        return cause instanceof ConnectException ? "connection refused" : oneLine(cause);
    }

    private static String oneLine(Throwable failure) {
        return String.valueOf(failure.getMessage())
                .lines()
                .findFirst()
                .orElse(failure.getClass().getSimpleName());
    }

    @Override
    public MarkStore marks() {
        return RedisRegister.shared(connection, name, lease, listening);
    }

    @Override
    public void createNeverUsed() {
        RedisRegister.createNeverUsed(connection, name);
    }

    @Override
    public void close() {
        shutDown();
    }

    private void shutDown() {
        client.shutdown(0, CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS);
        resources
                .shutdown(0, CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS)
                .awaitUninterruptibly(CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS);
    }
}
