package dev.palisade.bench;

import dev.palisade.scenario.ScenarioFailed;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The lock services of a run: what is needed is started when it is first asked for. What cannot be had is left out, and told. */
final class Services implements AutoCloseable {
    static final String REDISSON = "Redisson RFencedLock";
    static final String LETTUCE = "Lettuce by hand";
    static final String POSTGRES = "PostgreSQL advisory lock";

    private final EnumSet<Store> stores;
    private final boolean peers;
    private final @Nullable String givenRedis;
    private final @Nullable String postgres;
    private final Consumer<String> leftOut;
    private final List<Service> running = new ArrayList<>();
    private final Deque<ServerProcess> servers = new ArrayDeque<>();
    private @Nullable BenchRedis redis;
    private boolean started;

    /**
     * Starts nothing yet.
     *
     * @param stores in their order; those that cannot be had are taken out
     * @param givenRedis somebody's, or null to start one
     * @param postgres a JDBC URL, or null
     * @param leftOut is told what cannot be had, and why
     */
    Services(
            EnumSet<Store> stores,
            boolean peers,
            @Nullable String givenRedis,
            @Nullable String postgres,
            Consumer<String> leftOut) {
        this.stores = stores;
        this.peers = peers;
        this.givenRedis = givenRedis;
        this.postgres = postgres;
        this.leftOut = leftOut;
    }

    /** All that can be had, in the order in which they are shown. */
    List<Service> running() {
        if (!started) {
            started = true;
            for (Store store : stores()) {
                add(store.contestant(), () -> palisade(store));
            }
            if (peers) {
                add(REDISSON, () -> onRedis(REDISSON, Library.REDISSON));
                add(LETTUCE, () -> onRedis(LETTUCE, Library.LETTUCE));
                String url = postgres;
                if (url == null) {
                    leftOut.accept(POSTGRES + ": no --postgres");
                } else {
                    add(POSTGRES, () -> new Service(POSTGRES, Library.POSTGRES, url, Map.of()));
                }
            }
        }
        return running;
    }

    /** The Redis of this run. */
    BenchRedis redis() {
        if (redis == null) {
            redis = BenchRedis.open(givenRedis);
        }
        return redis;
    }

    /** The ones that are wanted. */
    Set<Store> stores() {
        return stores;
    }

    /** The JDBC URL of one that may be filled; empty if none was given. */
    Optional<String> postgres() {
        return Optional.ofNullable(postgres);
    }

    /** Tells that something is not measured, and why. */
    void leaveOut(String what) {
        leftOut.accept(what);
    }

    /** What of the Redis of this run a reader wants to know; nothing if none was needed. */
    Optional<String> redisVersion() {
        return Optional.ofNullable(redis).map(BenchRedis::version);
    }

    /** A lock server with nothing in it; whoever asks for it closes it. */
    ServerProcess newServer(Store store, String... options) {
        List<String> all = new ArrayList<>(List.of(options));
        if (store == Store.PROCESS) {
            all.addAll(List.of("--durability", "process"));
        }
        return switch (store) {
            case SYNCED, PROCESS -> ServerProcess.locks(all);
            case REDIS -> ServerProcess.locksIn(redis().uri(), all);
            case POSTGRESQL -> ServerProcess.locksIn(postgresUri(), all);
        };
    }

    /** As a lock server wants it, of what a JDBC URL says. */
    private String postgresUri() {
        String url = postgres;
        if (url == null) {
            throw new ScenarioFailed("no --postgres");
        }
        URI parts = URI.create(url.substring("jdbc:".length()));
        Map<String, String> parameters = new LinkedHashMap<>();
        String query = parts.getRawQuery();
        for (String each : query == null ? new String[0] : query.split("&")) {
            parameters.put(each.replaceFirst("=.*", ""), each.replaceFirst("[^=]*=?", ""));
        }
        String login = parameters.getOrDefault("user", "") + ":" + parameters.getOrDefault("password", "");
        return "postgresql://" + (login.equals(":") ? "" : login + "@") + parts.getRawAuthority() + parts.getRawPath();
    }

    /** The processor time of a lock server and of what is behind it. */
    Map<String, LongSupplier> clocks(Store store, ServerProcess server) {
        Map<String, LongSupplier> clocks = new LinkedHashMap<>();
        clocks.put(Service.SERVER, Usage.ofProcess(server.pid()));
        if (store == Store.REDIS) {
            clocks.put(Service.REDIS, redis()::cpuNanos);
        }
        return clocks;
    }

    private Service palisade(Store store) {
        ServerProcess server = newServer(store);
        servers.push(server);
        return new Service(store.contestant(), Library.PALISADE, server.address(), clocks(store, server));
    }

    private Service onRedis(String name, Library library) {
        return new Service(name, library, redis().uri(), Map.of(Service.REDIS, redis()::cpuNanos));
    }

    private interface Start {
        Service start();
    }

    private void add(String name, Start start) {
        try {
            running.add(start.start());
        } catch (ScenarioFailed e) {
            leftOut.accept(name + ": " + e.getMessage());
        }
    }

    @Override
    public void close() {
        running.forEach(Service::close);
        servers.forEach(ServerProcess::close);
        if (redis != null) {
            redis.close();
        }
    }
}
