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
 * The processes of a random run: lock servers, object store, and client processes, each behind its own links. A fault
 * reserves its target first, so that two faults never hit one target at the same time. Safe for many threads.
 */
final class Cluster implements AutoCloseable {
    static final int LOGICAL_CLIENTS = 6;
    /** Prefix of the name of a client in another language. */
    static final String FOREIGN = "py";

    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Installation installation;
    private final History history;
    private final Locks locks;
    private final String guard;
    private final Random random;
    private final List<ClientProcess> clients = new ArrayList<>();
    private final Set<Reservation> reservations = new HashSet<>();
    private int started;
    private final Map<String, Semaphore> serviceMutexes = new ConcurrentHashMap<>();
    private final @Nullable LockRedis redis;
    private final List<Service> servers = new CopyOnWriteArrayList<>();
    private volatile Service objects;

    /** The part of a client that one fault hits at a time. */
    enum FaultTarget {
        PROCESS,
        SERVER_LINK,
        OBJECTS_LINK
    }

    private record Reservation(ClientProcess client, FaultTarget target) {}

    /** A client process with its links, one to each lock server. */
    record ClientProcess(Child child, List<Link> toServers, Link toObjects, Optional<ForeignClient> foreign)
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
     * Starts the services; {@link #startClient} starts the clients.
     *
     * @param redis store of two lock servers; null: one lock server with a data directory
     */
    Cluster(
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

    /** The addresses of all lock servers, in the format of the client library. */
    String serverAddresses() {
        return servers.stream().map(Service::address).collect(Collectors.joining(","));
    }

    /** Whether two lock servers share a Redis. */
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
    void startClient() {
        startClient(Optional.empty());
    }

    /** Starts one more client. */
    void startClient(Optional<ForeignClient> foreign) {
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
        Child child = foreign.map(program -> program.start(FOREIGN + number, addresses, seed, locks.total()))
                .orElseGet(() -> installation.busyClient(
                        "c" + number,
                        BusyClient.class,
                        addresses,
                        toObjects.address(),
                        Long.toString(seed),
                        Integer.toString(LOGICAL_CLIENTS),
                        Integer.toString(locks.total())));
        String ready = child.await(line -> line.startsWith("ready "), TIMEOUT);
        requireSharedClock(child.name(), before, Long.parseLong(ready.substring("ready ".length())), System.nanoTime());
        JsonObject event = history.event("started");
        event.addProperty("who", child.name());
        history.write(event);
        synchronized (this) {
            clients.add(new ClientProcess(child, toServers, toObjects, foreign));
        }
    }

    /** The history has one timeline only if all processes read one monotonic clock. */
    static void requireSharedClock(String name, long beforeNanos, long clientNanos, long afterNanos) {
        if (clientNanos < beforeNanos || clientNanos > afterNanos) {
            throw new ScenarioFailed("System.nanoTime of " + name + " was " + clientNanos + ", here it was "
                    + beforeNanos + " before and " + afterNanos
                    + " after; a fault run needs one clock for all processes, as Linux has");
        }
    }

    /**
     * Reserves the target of up to {@code limit} clients that is not reserved yet. A client's process and link can be
     * hit at the same time. At least half of the clients stay unreserved.
     */
    synchronized List<ClientProcess> reserve(FaultTarget target, int limit, int dice) {
        List<ClientProcess> free = new ArrayList<>(clients.stream()
                .filter(client -> !reservations.contains(new Reservation(client, target)))
                .toList());
        List<ClientProcess> reserved = new ArrayList<>();
        while (reserved.size() < limit && free.size() > clients.size() / 2) {
            ClientProcess client = free.remove(Math.floorMod(dice, free.size()));
            reservations.add(new Reservation(client, target));
            reserved.add(client);
        }
        return reserved;
    }

    synchronized void unreserve(ClientProcess client, FaultTarget target) {
        reservations.remove(new Reservation(client, target));
    }

    /** Kills a reserved client with SIGKILL and starts a new one instead. */
    void replace(ClientProcess client) {
        synchronized (this) {
            clients.remove(client);
        }
        client.child().kill();
        JsonObject event = history.event("killed");
        event.addProperty("who", client.name());
        history.write(event);
        // Its links deliver the bytes that they have received, then the end of the connection.
        startClient(client.foreign());
    }

    /** Runs {@code action} while no other fault hits the service of that name. */
    void exclusively(String service, Runnable action) {
        Semaphore mutex = serviceMutexes.computeIfAbsent(service, name -> new Semaphore(1));
        mutex.acquireUninterruptibly();
        try {
            action.run();
        } finally {
            mutex.release();
        }
    }

    /**
     * Restarts a lock server on the same port and data. It is retried, because a lock server does not start without its
     * Redis.
     */
    void restartServer(int number) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
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

    /** Requests the end of every client and waits for it. Returns an error if a client does not end. */
    Optional<String> stopClients() {
        List<ClientProcess> all;
        synchronized (this) {
            all = List.copyOf(clients);
        }
        all.forEach(client -> client.child().send("stop"));
        try {
            for (ClientProcess client : all) {
                client.child().await(line -> line.equals("done"), TIMEOUT);
                client.child().awaitExit();
            }
            return Optional.empty();
        } catch (ScenarioFailed e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** Stops the object store, then the lock servers, with SIGTERM. */
    void stopServices() {
        objects.child().terminate();
        servers.forEach(server -> server.child().terminate());
    }

    @Override
    public void close() {
        List<ClientProcess> all;
        synchronized (this) {
            all = List.copyOf(clients);
        }
        all.forEach(ClientProcess::close);
        objects.child().close();
        servers.forEach(server -> server.child().close());
    }
}
