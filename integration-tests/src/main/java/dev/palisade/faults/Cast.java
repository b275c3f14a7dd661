package dev.palisade.faults;

import com.google.gson.JsonObject;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.History;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Who plays in a random run: the lock servers, the object store, and client processes, each behind links of its own.
 * Whoever does harm to one of them takes it first and gives it back, so that no two harm one process at once. Safe for many
 * threads.
 */
final class Cast implements AutoCloseable {
    static final int LOGICAL_CLIENTS = 6;
    /** The name of a client in another language begins so. */
    static final String FOREIGN = "py";

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Installation installation;
    private final History history;
    private final Locks locks;
    private final String guard;
    private final Random random;
    private final List<Player> players = new ArrayList<>();
    private final Set<Taken> taken = new HashSet<>();
    private int started;
    private final Map<String, Semaphore> turns = new ConcurrentHashMap<>();
    private final @Nullable LockRedis redis;
    private final List<Service> servers = new CopyOnWriteArrayList<>();
    private volatile Service objects;

    /** What harm can be done to, of one client, at one time. */
    enum Part {
        PROCESS,
        SERVER_LINK,
        OBJECTS_LINK
    }

    private record Taken(Player player, Part part) {}

    /** A client process and its links, one to each lock server. */
    record Player(Child child, List<Link> toServers, Link toObjects, Optional<ForeignClient> foreign)
            implements AutoCloseable {
        String name() {
            return child.name();
        }

        @Override
        public void close() {
            child.close();
            toServers.forEach(Link::close);
            toObjects.close();
        }
    }

    /**
     * Starts the services; clients join by {@link #join}.
     *
     * @param redis where two lock servers keep their locks; null: there is one, with a data directory
     */
    Cast(
            Installation installation,
            History history,
            Locks locks,
            boolean guard,
            Random random,
            @Nullable LockRedis redis) {
        this.installation = installation;
        this.history = history;
        this.locks = locks;
        this.guard = guard ? "enforce" : "off";
        this.random = random;
        this.redis = redis;
        for (int i = 0; i < (redis == null ? 1 : LockRedis.SERVERS); i++) {
            servers.add(installation.server(environment(i, i == 0)));
        }
        this.objects = installation.objects("--guard", this.guard);
    }

    private Map<String, String> environment(int server, boolean first) {
        return redis == null ? Map.of() : redis.environment(server, first);
    }

    int servers() {
        return servers.size();
    }

    static String serverName(int number) {
        return number == 0 ? "server" : "server " + (number + 1);
    }

    Service server(int number) {
        return servers.get(number);
    }

    /** Of all lock servers, as a client is told them. */
    String serverAddresses() {
        return servers.stream().map(Service::address).collect(Collectors.joining(","));
    }

    /** Whether several lock servers share their locks. */
    boolean isOnRedis() {
        return redis != null;
    }

    /** @throws ScenarioFailed if the locks are in a data directory */
    LockRedis redis() {
        if (redis == null) {
            throw new ScenarioFailed("this run has no Redis");
        }
        return redis;
    }

    Service objects() {
        return objects;
    }

    /** Starts one more client. */
    void join() {
        join(Optional.empty());
    }

    /** Starts one more client. */
    void join(Optional<ForeignClient> foreign) {
        final int number;
        final long seed;
        synchronized (this) {
            number = ++started;
            seed = random.nextLong();
        }
        List<Link> toServers = servers.stream()
                .map(server -> new Link(server.address(), Link.Deaths.TOLD))
                .toList();
        Link toObjects = new Link(objects.address(), Link.Deaths.TOLD);
        long before = System.nanoTime();
        String addresses = toServers.stream().map(Link::address).collect(Collectors.joining(","));
        Child child = foreign.map(client -> client.start(FOREIGN + number, addresses, seed, locks.total()))
                .orElseGet(() -> installation.busyClient(
                        "c" + number,
                        BusyClient.class,
                        addresses,
                        toObjects.address(),
                        Long.toString(seed),
                        Integer.toString(LOGICAL_CLIENTS),
                        Integer.toString(locks.total())));
        String ready = child.await(line -> line.startsWith("ready "), PATIENCE);
        refuseForeignClock(child.name(), before, Long.parseLong(ready.substring("ready ".length())), System.nanoTime());
        JsonObject event = history.event("started");
        event.addProperty("who", child.name());
        history.write(event);
        synchronized (this) {
            players.add(new Player(child, toServers, toObjects, foreign));
        }
    }

    /** The run's history has one time line only if all processes read one monotonic clock. */
    static void refuseForeignClock(String name, long beforeNanos, long saidNanos, long afterNanos) {
        if (saidNanos < beforeNanos || saidNanos > afterNanos) {
            throw new ScenarioFailed(
                    "System.nanoTime of " + name + " was " + saidNanos + ", here it was " + beforeNanos + " before and "
                            + afterNanos + " after; a fault run needs one clock for all processes, as Linux has");
        }
    }

    /**
     * Takes that part of up to {@code most} clients, where nobody else has it; so a client can be stopped while its link
     * stands still. At least half of the clients keep it.
     */
    synchronized List<Player> take(Part part, int most, int dice) {
        List<Player> free = new ArrayList<>(players.stream()
                .filter(player -> !taken.contains(new Taken(player, part)))
                .toList());
        List<Player> got = new ArrayList<>();
        while (got.size() < most && free.size() > players.size() / 2) {
            Player player = free.remove(Math.floorMod(dice, free.size()));
            taken.add(new Taken(player, part));
            got.add(player);
        }
        return got;
    }

    synchronized void giveBack(Player player, Part part) {
        taken.remove(new Taken(player, part));
    }

    /** kill -9 of a client that was taken, and a new one in its place. */
    void replace(Player player) {
        synchronized (this) {
            players.remove(player);
        }
        player.child().kill();
        JsonObject event = history.event("killed");
        event.addProperty("who", player.name());
        history.write(event);
        // Its links still tell what they have taken, then the death.
        join(player.foreign());
    }

    /** Runs {@code harm} while nobody else harms the service of that name. */
    void alone(String service, Runnable harm) {
        Semaphore turn = turns.computeIfAbsent(service, name -> new Semaphore(1));
        turn.acquireUninterruptibly();
        try {
            harm.run();
        } finally {
            turn.release();
        }
    }

    /** On the port and the data it had. One that finds Redis down or silent does not start, and is started again. */
    void restartServer(int number) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                servers.set(
                        number,
                        installation.server(
                                environment(number, false),
                                "--port",
                                servers.get(number).port()));
                return;
            } catch (ScenarioFailed e) {
                if (redis == null || System.nanoTime() > deadline) {
                    throw e;
                }
            }
        }
    }

    void restartObjects() {
        objects = installation.objects("--guard", guard, "--port", objects.port());
    }

    /** Lets every client end by itself; empty if all did, else who did not and why. */
    Optional<String> dismiss() {
        List<Player> all;
        synchronized (this) {
            all = List.copyOf(players);
        }
        all.forEach(player -> player.child().send("stop"));
        try {
            for (Player player : all) {
                player.child().await(line -> line.equals("done"), PATIENCE);
                player.child().awaitExit();
            }
            return Optional.empty();
        } catch (ScenarioFailed e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** Ends the services in order. */
    void stopServices() {
        objects.child().terminate();
        servers.forEach(server -> server.child().terminate());
    }

    @Override
    public void close() {
        List<Player> all;
        synchronized (this) {
            all = List.copyOf(players);
        }
        all.forEach(Player::close);
        objects.child().close();
        servers.forEach(server -> server.child().close());
    }
}
