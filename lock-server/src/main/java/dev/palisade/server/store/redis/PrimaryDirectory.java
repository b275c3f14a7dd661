package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreFailure;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The directory of primaries, with a {@link RedisConnection} to each: one, or those of a cluster. Works in rounds: asks for the topology,
 * leaves former primaries, connects to new ones. A round follows each broken connection, and where the topology can change unseen, the
 * round before. In the {@link Loop} only.
 */
final class PrimaryDirectory {
    private static final long WATCH_MILLIS = 1_000;
    /** A link that lasted so long was not lost at once. */
    private static final long LASTED_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final StoreUri uri;
    private final Connector connector;
    private final Handshake handshake;
    private final EventLoop loop;
    private final Topology topology;
    private final FunctionLoader loader;
    private final EventLog events;
    private final Map<Address, Primary> linked = new LinkedHashMap<>();
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final List<Finder> finders = new ArrayList<>();
    private final BackOff backOff =
            new BackOff(below -> ThreadLocalRandom.current().nextLong(below));
    /** Suspected right after they were linked: linking them once more is not worth a line. */
    private final Set<Address> suspectedAgain = new HashSet<>();

    /** Primaries whose settings were reported. */
    private final Set<Address> warned = new HashSet<>();

    private volatile Route route = Route.NOWHERE;
    private @Nullable Future<?> nextRound;
    private boolean looking;
    private boolean lookAgain;
    private boolean closed;
    private String lastFailure = "";
    private volatile LinkState state = new LinkState(false, "", "", "");

    /** A call that waits for the primary of a slot. */
    private record Finder(int slot, CompletableFuture<Void> found) {}

    PrimaryDirectory(StoreUri uri, Connector connector, FunctionLoader loader, EventLog events) {
        this.uri = uri;
        this.connector = connector;
        this.loader = loader;
        handshake = new Handshake(uri, connector, loader, started::isDone);
        this.events = events;
        loop = connector.loop();
        topology = Topology.of(uri, connector);
    }

    /** The first round, after which there are more only if all primaries were linked. Any thread. */
    CompletableFuture<Void> start() {
        loop.execute(this::look);
        var unused = loop.schedule(this::beat, WATCH_MILLIS, TimeUnit.MILLISECONDS);
        return started;
    }

    /** Where to write {@code call}; null if that primary is not linked. */
    @Nullable
    RedisConnection connection(FunctionCall call) {
        Address target = call.target();
        return at(target != null ? target : route.primaryOf(call.slot));
    }

    /** False as well if no server replies. */
    CompletableFuture<Boolean> isStillPrimary(Reply answered) {
        RedisConnection connection = answered.from();
        if (connection == null || closed) {
            return CompletableFuture.completedFuture(false);
        }
        return topology.read()
                .handle((now, failure) -> failure == null
                        && now.isConfirmed()
                        && connection.address().equals(now.primaryOf(answered.slot()))
                        && isLinked(connection));
    }

    boolean isCluster() {
        return route.isCluster();
    }

    /** Why one is not linked, in one line. */
    String why() {
        return closed
                ? "the link to Redis is closed"
                : lastFailure.isEmpty() ? "Redis " + uri + " is being linked" : lastFailure;
    }

    void find(Reply suspected, CompletableFuture<Void> found) {
        RedisConnection connection = suspected.from();
        if (connection != null && isLinked(connection)) {
            if (connection.ageNanos() < LASTED_NANOS) {
                suspectedAgain.add(connection.address());
            }
            leave(connection, "Redis " + connection.address() + " may not be the primary any more");
        } else if (at(route.primaryOf(suspected.slot())) != null) {
            found.complete(null); // Left already, and found.
            return;
        }
        if (closed) {
            found.completeExceptionally(StoreFailure.unavailable(why()));
            return;
        }
        finders.add(new Finder(suspected.slot(), found));
        look();
    }

    /** Sends nothing more there. What is in flight is still answered. */
    void leave(RedisConnection connection, String why) {
        if (isLinked(connection)) {
            connection.retire();
            lost(connection, why);
        }
    }

    /** Asks who the primaries are, now, or again when the round that runs is over. */
    void look() {
        if (closed) {
            return;
        }
        if (looking) {
            lookAgain = true;
            return;
        }
        looking = true;
        if (nextRound != null) {
            nextRound.cancel(false);
        }
        List<Finder> waiting = List.copyOf(finders);
        finders.clear();
        var unusedEnd = topology.read()
                .thenCompose(this::take)
                .whenComplete((done, failure) -> looked(waiting, failure == null ? null : RedisUnusable.of(failure)));
    }

    /** Links what is missing of {@code now}. Fails with the first {@link RedisUnusable}, when all were tried. */
    private CompletableFuture<Void> take(Route now) {
        route = now;
        for (Primary primary : List.copyOf(linked.values())) {
            if (!route.primaries().contains(primary.connection().address())) {
                leave(primary.connection(), "Redis " + primary.connection().address() + " is not the primary any more");
            }
        }
        List<CompletableFuture<Void>> linking = new ArrayList<>();
        for (Address address : route.primaries()) {
            if (!linked.containsKey(address)) {
                linking.add(link(address));
            }
        }
        return CompletableFuture.allOf(linking.toArray(new CompletableFuture<?>[0]));
    }

    private CompletableFuture<Void> link(Address address) {
        return handshake.link(address).thenAccept(primary -> {
            RedisConnection connection = primary.connection();
            if (closed || !route.primaries().contains(address)) {
                connection.retire();
                return;
            }
            linked.put(address, primary);
            connection.ownedBy(this::lost);
            if (!suspectedAgain.remove(address)) {
                events.tell(
                        "store_linked",
                        "primary",
                        address,
                        "version",
                        primary.info().version(),
                        "replication_id",
                        primary.info().replicationId());
            }
            tell();
        });
    }

    /** A round is over. */
    private void looked(List<Finder> waiting, @Nullable RedisUnusable failure) {
        looking = false;
        if (failure != null) {
            lastFailure = String.valueOf(failure.getMessage());
        }
        tell();
        for (Finder finder : waiting) {
            if (at(route.primaryOf(finder.slot)) != null) {
                finder.found.complete(null);
            } else {
                finder.found.completeExceptionally(StoreFailure.unavailable(why()));
            }
        }
        if (failure != null && started.completeExceptionally(failure)) {
            return;
        }
        if (started.complete(null)) {
            connector.started();
        }
        if (lookAgain) {
            lookAgain = false;
            look();
        } else if (isMissing()) {
            lookIn(backOff.nextMillis());
        } else if (topology.changes()) {
            lookIn(WATCH_MILLIS);
        }
    }

    /** A connection broke, or was left. */
    private void lost(RedisConnection connection, String why) {
        Address address = connection.address();
        if (!isLinked(connection)) {
            return;
        }
        linked.remove(address);
        lastFailure = why.startsWith("Redis ") ? why : "Redis " + address + " was lost (" + why + ")";
        if (!suspectedAgain.contains(address)) {
            events.warn("store_lost", "primary", address, "message", lastFailure);
        }
        tell();
        if (connection.ageNanos() > LASTED_NANOS) {
            backOff.reset();
        }
        if (looking) {
            lookAgain = true;
        } else {
            lookIn(backOff.nextMillis());
        }
    }

    private void lookIn(long millis) {
        if (closed) {
            return;
        }
        if (nextRound != null) {
            nextRound.cancel(false);
        }
        nextRound = loop.schedule(this::look, millis, TimeUnit.MILLISECONDS);
    }

    /** Detects a primary that does not reply, or is demoted, while no call is made; a lost library; and a setting that evicts keys. */
    private void beat() {
        for (Primary primary : List.copyOf(linked.values())) {
            var unusedEnd = load(primary.connection());
            var unusedCheck = ServerInfo.of(primary.connection()).thenAccept(info -> checkSettings(primary, info));
        }
        if (!closed) { // The loop goes on when this is over.
            var unused = loop.schedule(this::beat, WATCH_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private void checkSettings(Primary primary, ServerInfo info) {
        Address address = primary.connection().address();
        String problem = info.refusalAtStart(address);
        if (problem == null) {
            warned.remove(address);
        } else if (warned.add(address)) {
            events.warn("store_warning", "message", problem);
        }
    }

    /** Sees to it that the functions are there. */
    CompletableFuture<Void> load(RedisConnection connection) {
        return loader.ensure(connection).whenComplete((done, failure) -> {
            String error = failure == null ? null : RedisUnusable.of(failure).error();
            if (error != null) {
                lastFailure = String.valueOf(RedisUnusable.of(failure).getMessage());
                if (ErrorReply.of(error).fate() == ErrorReply.Fate.LEFT) {
                    leave(connection, lastFailure);
                }
            }
        });
    }

    void close() {
        closed = true;
        if (nextRound != null) {
            nextRound.cancel(false);
        }
        for (Primary primary : List.copyOf(linked.values())) {
            linked.remove(primary.connection().address());
            primary.connection().close("the link was closed");
        }
        tell();
        List<Finder> waiting = List.copyOf(finders);
        finders.clear();
        waiting.forEach(finder -> finder.found.completeExceptionally(StoreFailure.unavailable(why())));
    }

    /** Any thread. */
    LinkState state() {
        return state;
    }

    private void tell() {
        state = new LinkState(
                !closed && !isMissing(),
                linked.keySet().stream().map(Address::toString).collect(Collectors.joining(",")),
                linked.values().stream()
                        .findFirst()
                        .map(primary -> primary.info().replicationId())
                        .orElse(""),
                lastFailure);
    }

    private boolean isMissing() {
        return route.primaries().isEmpty() || !linked.keySet().containsAll(route.primaries());
    }

    private boolean isLinked(RedisConnection connection) {
        return at(connection.address()) == connection;
    }

    private @Nullable RedisConnection at(@Nullable Address address) {
        Primary primary = address == null ? null : linked.get(address);
        return primary == null ? null : primary.connection();
    }
}
