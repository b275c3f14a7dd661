package dev.palisade.server.store.redis;

import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.redis.StoreUri.Login;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.netty.channel.EventLoop;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The factory of connections, all on the {@link Loop}. Lettuce's own reconnecting and timeouts are off, because this package has its own.
 * After {@link #close} no thread of Lettuce is left.
 */
final class Connector implements AutoCloseable {
    /** The first connection of a process loads classes, on a machine that may be busy with a start. */
    private static final Duration FIRST_TIMEOUT_MIN = Duration.ofSeconds(5);

    private static final Duration CLOSING_MAX = Duration.ofSeconds(2);

    private final StoreUri uri;
    private final Duration timeout;
    private final EventLoop loop;
    private final SpinThenBlock strategy;
    private final ClientResources resources;
    private final RedisClient client;
    private Duration connectTimeout;

    Connector(RedisLinkConfig config, Loop lent) throws StoreUnusable {
        uri = config.uri();
        timeout = config.timeout();
        connectTimeout = timeout.compareTo(FIRST_TIMEOUT_MIN) > 0 ? timeout : FIRST_TIMEOUT_MIN;
        SslOptions ssl = ssl(uri);
        loop = lent.thread();
        strategy = lent.strategy();
        resources = DefaultClientResources.builder()
                .eventLoopGroupProvider(lent.lent())
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .build();
        client = RedisClient.create(resources);
        client.setOptions(ClientOptions.builder()
                .autoReconnect(false)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build())
                .maintNotificationsConfig(MaintNotificationsConfig.disabled())
                .protocolVersion(ProtocolVersion.RESP2)
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(RedisLinkConfig.TIMEOUT_MAX)
                        .build())
                .sslOptions(ssl)
                .build());
    }

    /** From now on connections must come within the timeout. On the loop. */
    void started() {
        connectTimeout = timeout;
    }

    EventLoop loop() {
        return loop;
    }

    /** Connects to a Redis that keeps locks. Completes on the loop, with {@link RedisUnusable} if it fails. */
    CompletableFuture<RedisConnection> connect(Address address) {
        return connection(address, uri.login());
    }

    /** Connects to a Sentinel; as {@link #connect}. */
    CompletableFuture<RedisConnection> connectSentinel(Address address) {
        return connection(address, uri.sentinelLogin());
    }

    /** A connection that Redis closed during the greeting is made once more: Lettuce may have lost the error that Redis gave as the reason. */
    private CompletableFuture<RedisConnection> connection(Address address, Login login) {
        return within(
                        address,
                        client.connectAsync(ByteArrayCodec.INSTANCE, redis(address, login))
                                .toCompletableFuture()
                                .exceptionallyCompose(failure -> ConnectFailure.isClosedEarly(failure)
                                        ? client.connectAsync(ByteArrayCodec.INSTANCE, redis(address, login))
                                                .toCompletableFuture()
                                        : CompletableFuture.failedFuture(failure)))
                .thenApply(connection -> new RedisConnection(connection, address, loop, timeout.toNanos(), strategy));
    }

    /** The connection, on the loop and in time; one that comes too late is closed. */
    private CompletableFuture<StatefulRedisConnection<byte[], byte[]>> within(
            Address address, CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connecting) {
        CompletableFuture<StatefulRedisConnection<byte[], byte[]>> result = new CompletableFuture<>();
        // Ours alone, as the one for connecting does not see a process that is frozen.
        long nanos = connectTimeout.toNanos();
        var late = loop.schedule(
                () -> result.completeExceptionally(ConnectFailure.silence(address, uri.tls(), nanos)),
                nanos,
                TimeUnit.NANOSECONDS);
        var unusedEnd = connecting.whenCompleteAsync(
                (connection, failure) -> {
                    late.cancel(false);
                    if (failure != null) {
                        result.completeExceptionally(ConnectFailure.refusal(address, uri.tls(), failure));
                    } else if (!result.complete(connection)) {
                        var unused = connection.closeAsync();
                    }
                },
                loop);
        return result;
    }

    private RedisURI redis(Address address, Login login) {
        RedisURI redis = RedisURI.create(address.host(), address.port());
        redis.setTimeout(RedisLinkConfig.TIMEOUT_MAX); // Of the greeting; ours comes first.
        redis.setSsl(uri.tls());
        redis.setLibraryName(""); // Else it is sent, and a Redis before 7.2 answers with errors.
        redis.setLibraryVersion("");
        String password = login.password();
        if (password != null && login.user() != null) {
            redis.setAuthentication(login.user(), password);
        } else if (password != null) {
            redis.setAuthentication(password);
        }
        return redis;
    }

    private static SslOptions ssl(StoreUri uri) throws StoreUnusable {
        SslOptions.Builder ssl = SslOptions.builder().jdkSslProvider();
        Optional<Path> ca = readable(uri, "ca");
        Optional<Path> cert = readable(uri, "cert");
        Optional<Path> key = readable(uri, "key");
        ca.ifPresent(file -> ssl.trustManager(file.toFile()));
        if (cert.isPresent() && key.isPresent()) {
            ssl.keyManager(cert.get().toFile(), key.get().toFile(), null);
        }
        return ssl.build();
    }

    private static Optional<Path> readable(StoreUri uri, String name) throws StoreUnusable {
        Optional<Path> file = uri.file(name);
        if (file.isPresent() && !Files.isReadable(file.get())) {
            throw new StoreUnusable(
                    "certificate file " + file.get() + " cannot be read; name a PEM file in " + name + "=");
        }
        return file;
    }

    /** Closes all connections, within a bounded time. */
    @Override
    public void close() {
        try {
            client.shutdownAsync(0, CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS)
                    .get(CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // What could not be closed in time ends with the loop.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        resources
                .shutdown(0, CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS)
                .awaitUninterruptibly(CLOSING_MAX.toMillis(), TimeUnit.MILLISECONDS);
    }
}
