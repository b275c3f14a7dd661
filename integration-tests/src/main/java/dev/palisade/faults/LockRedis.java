package dev.palisade.faults;

import dev.palisade.redis.RedisProcess;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The Redis that stores the locks of a run, with one link for each lock server. Only a Redis that the run has started
 * itself gets faults. One thread at a time injects them.
 */
final class LockRedis implements AutoCloseable {
    static final int SERVERS = 2;
    /** Longer than the longest lease, so that P5 holds over every loss of data. */
    static final long FAILOVER_GRACE_MILLIS = 3_000;

    private static final int PORT = 6379;
    private static final Duration COUNTER_PATIENCE = Duration.ofMinutes(1);

    private final @Nullable RedisProcess own;
    private final URI uri;
    private final String prefix;
    private final List<Link> links;

    private LockRedis(@Nullable RedisProcess own, URI uri, String prefix) {
        this.own = own;
        this.uri = uri;
        this.prefix = prefix;
        String address = uri.getHost() + ":" + (uri.getPort() < 0 ? PORT : uri.getPort());
        this.links = IntStream.range(0, SERVERS)
                .mapToObj(i -> new Link(address, Link.Deaths.TOLD))
                .toList();
    }

    /** Starts a Redis with the common setting appendfsync everysec, so a crash may lose the last second. */
    static LockRedis startOwn() {
        RedisProcess process = RedisProcess.start("appendonly yes", "appendfsync everysec");
        return new LockRedis(process, URI.create(process.uri()), "palisade-faults");
    }

    /** @param uri {@code redis://[USER:PASSWORD@]HOST[:PORT]} */
    static LockRedis at(URI uri, String prefix) {
        return new LockRedis(null, uri, prefix);
    }

    LockBackend backend() {
        return own == null ? LockBackend.REDIS : LockBackend.OWN_REDIS;
    }

    /**
     * The environment of a lock server.
     *
     * @param first whether no lock server has used this Redis yet
     */
    Map<String, String> environment(int server, boolean first) {
        String user = uri.getRawUserInfo() == null ? "" : uri.getRawUserInfo() + "@";
        return Map.of(
                "PALISADE_SERVER_STORE",
                "redis://" + user + link(server).address(),
                "PALISADE_SERVER_STORE_PREFIX",
                prefix,
                "PALISADE_SERVER_FAILOVER_GRACE",
                FAILOVER_GRACE_MILLIS + "ms",
                "PALISADE_SERVER_INIT",
                Boolean.toString(first),
                // Clients connect over their own links and do not use this address.
                "PALISADE_SERVER_ADVERTISE",
                "lock-server-" + server + ":7600");
    }

    /** The link between a lock server and this Redis. */
    Link link(int server) {
        return links.get(server);
    }

    /** kill -9. */
    void kill() {
        process().kill9();
    }

    /** Restarts Redis on its data. */
    void start() {
        process().restart();
    }

    /** Restarts Redis without data. */
    void startEmpty() {
        try (Stream<Path> files = Files.walk(process().folder().resolve("appendonlydir"))) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start();
    }

    /** SIGSTOP. */
    void stop() {
        process().freeze();
    }

    void resume() {
        process().thaw();
    }

    void flush() {
        process().ask("FLUSHALL");
    }

    void flushFunctions() {
        process().ask("FUNCTION", "FLUSH");
    }

    /** Waits for the counter: an emptied Redis has none until a lock server has claimed the log. */
    void deleteCounter() {
        long deadline = System.nanoTime() + COUNTER_PATIENCE.toNanos();
        StopLatch never = new StopLatch();
        while (!process().ask("DEL", prefix + ":{0}:log:token").equals("1")) {
            if (System.nanoTime() > deadline) {
                throw new ScenarioFailed("no lock server has begun to count tokens within " + COUNTER_PATIENCE);
            }
            never.await(50);
        }
    }

    private RedisProcess process() {
        if (own == null) {
            throw new ScenarioFailed("a Redis that the run has not started is not harmed");
        }
        return own;
    }

    @Override
    public void close() {
        links.forEach(Link::close);
        if (own != null) {
            own.close();
        }
    }
}
