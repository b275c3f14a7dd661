package dev.palisade.redis;

import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * A Redis for the tests of this JVM, started when the first one asks and gone with the JVM. All tests share it: each keeps to
 * {@linkplain #newPrefix() a prefix of its own}, changes no setting and flushes nothing. Whoever wants to do such things takes
 * a {@link RedisProcess}. Thread-safe.
 *
 * <p>Where it is from, in this order: {@code -Dpalisade.redis=redis://...}; a container, where there is a Docker engine that has the
 * image {@code -Dpalisade.redis.image} (none is ever pulled); a process of the {@code redis-server} on the PATH; a process of the one
 * that a Maven artefact carries. {@code -Dpalisade.redis.way=given|docker|path|bundled} allows only that one.
 */
public final class TestRedis {
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final Way way;
    private final String uri;

    private TestRedis(Way way, String uri) {
        this.way = way;
        this.uri = uri;
    }

    /**
     * The one of this JVM.
     *
     * @throws IllegalStateException if the way that is asked for cannot be had, with what is missing
     */
    public static TestRedis get() {
        return Shared.ONE;
    }

    /** Where it is from. */
    public Way way() {
        return way;
    }

    /** What a client connects to; has a password if the given one has. */
    public String uri() {
        return uri;
    }

    /** A beginning of keys that nothing else in this Redis has. */
    public String newPrefix() {
        return "test-" + UUID.randomUUID();
    }

    @Override
    public String toString() {
        return "Redis for tests: " + way + ", " + uri.replaceFirst("//.*@", "//***@");
    }

    /** Tries every way that is allowed, in order. */
    static TestRedis find(Optional<Way> wanted, Optional<String> given) {
        List<String> missing = new ArrayList<>();
        for (Way way : wanted.map(List::of).orElse(List.of(Way.values()))) {
            try {
                Optional<String> uri = switch (way) {
                    case GIVEN -> given.map(TestRedis::reached);
                    case DOCKER -> DockerRedis.uri(wanted.isPresent());
                    case PATH -> RedisBinary.onThePath().map(TestRedis::startedFrom);
                    case BUNDLED -> Optional.of(startedFrom(RedisBinary.bundledOne()));
                };
                if (uri.isPresent()) {
                    return new TestRedis(way, uri.get());
                }
                missing.add(way + ": none");
            } catch (DockerRedis.NoContainer e) {
                missing.add(way + ": " + e.getMessage());
            }
        }
        throw new IllegalStateException("no Redis for tests by -D" + Way.PROPERTY + "; " + String.join("; ", missing));
    }

    private static String startedFrom(RedisBinary binary) {
        RedisProcess redis = new RedisSetup().binary(binary).start();
        Runtime.getRuntime().addShutdownHook(new Thread(redis::close));
        return redis.uri();
    }

    /** A server that somebody gave is there, or the tests fail: they never go on with another one. */
    private static String reached(String uri) {
        URI address = URI.create(uri);
        int port = address.getPort() < 0 ? 6379 : address.getPort();
        try {
            if (address.getScheme().equals("redis")) {
                Resp.ask(address.getHost(), port, PATIENCE, "PING");
            } else {
                new Socket(address.getHost(), port).close();
            }
            return uri;
        } catch (IOException e) {
            throw new IllegalStateException(
                    "-Dpalisade.redis: nothing answers at " + address.getHost() + ":" + port + " (" + e.getMessage()
                            + "); start that Redis, or leave the property out",
                    e);
        }
    }

    private static final class Shared {
        static final TestRedis ONE = start();

        private static TestRedis start() {
            TestRedis redis = find(Way.wanted(), Optional.ofNullable(System.getProperty("palisade.redis")));
            System.out.println(redis);
            return redis;
        }
    }
}
