package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreFailure;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Locates the primary, and keeps a {@link RedisConnection} to it. Works in rounds: asks for the topology, leaves a former primary, connects
 * to a new one. A round follows each broken connection, and where the topology can change unseen, the round before. In the {@link Loop}
 * only.
 */
final class PrimaryLocator {
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
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final List<CompletableFuture<Void>> finders = new ArrayList<>();
    private final BackOff backOff =
            new BackOff(below -> ThreadLocalRandom.current().nextLong(below));

    @Nullable
    Primary linked;
    /** Suspected right after it was linked: to link it once more is not worth a line. */
    private @Nullable Address suspectedAgain;
    /** Its settings were reported. */
    private @Nullable Address warned;

    private @Nullable Future<?> nextRound;
    private boolean looking;
    private boolean lookAgain;
    private boolean closed;
    String lastFailure = "";

    PrimaryLocator(StoreUri uri, int slot, Connector connector, FunctionLoader loader, EventLog events) {
        this.uri = uri;
        this.connector = connector;
        this.loader = loader;
        handshake = new Handshake(uri, connector, loader, started::isDone);
        this.events = events;
        loop = connector.loop();
        topology = Topology.of(uri, slot, connector);
    }

    /** The first round, after which there are more only if the primary was linked. Any thread. */
    CompletableFuture<Void> start() {
        loop.execute(this::look);
        var unused = loop.schedule(this::beat, WATCH_MILLIS, TimeUnit.MILLISECONDS);
        return started;
    }

    /** Null if no primary is linked. */
    @Nullable
    RedisConnection connection() {
        return linked == null ? null : linked.connection();
    }

    /** False as well if no server replies. */
    CompletableFuture<Boolean> isStillPrimary(Reply answered) {
        RedisConnection connection = answered.from();
        if (connection == null || closed) {
            return CompletableFuture.completedFuture(false);
        }
        return topology.confirms(connection.address()).thenApply(confirmed -> confirmed && isLinked(connection));
    }

    /** Why none is linked, in one line. */
    String why() {
        return closed
                ? "the link to Redis is closed"
                : lastFailure.isEmpty() ? "Redis " + uri + " is being linked" : lastFailure;
    }

    void find(Reply suspected, String why, CompletableFuture<Void> found) {
        RedisConnection connection = suspected.from();
        if (connection != null && isLinked(connection)) {
            if (connection.ageNanos() < LASTED_NANOS) {
                suspectedAgain = connection.address();
            }
            leave(connection, "Redis " + connection.address() + " may not be the primary any more: " + why);
        } else if (linked != null) {
            found.complete(null); // Left already, and found.
            return;
        }
        if (closed) {
            found.completeExceptionally(StoreFailure.unavailable(why()));
            return;
        }
        finders.add(found);
        look();
    }

    /** Sends nothing more there. What is in flight is still answered. */
    void leave(RedisConnection connection, String why) {
        if (isLinked(connection)) {
            connection.retire();
            lost(connection, why);
        }
    }

    /** Starts a round: at once, or after the present one. */
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
        List<CompletableFuture<Void>> waiting = List.copyOf(finders);
        finders.clear();
        var unusedEnd = topology.read()
                .thenCompose(this::take)
                .whenComplete((done, failure) -> looked(waiting, failure == null ? null : RedisUnusable.of(failure)));
    }

    /** Links {@code primary}, unless it is linked. Fails with {@link RedisUnusable}. */
    private CompletableFuture<Void> take(Address primary) {
        RedisConnection former = connection();
        if (former != null && !former.address().equals(primary)) {
            leave(former, "Redis " + former.address() + " is not the primary any more");
        }
        return linked != null ? CompletableFuture.completedFuture(null) : link(primary);
    }

    private CompletableFuture<Void> link(Address address) {
        return handshake.link(address).thenAccept(primary -> {
            RedisConnection connection = primary.connection();
            if (closed) {
                connection.retire();
                return;
            }
            linked = primary;
            connection.ownedBy(this::lost);
            if (!address.equals(suspectedAgain)) {
                events.tell(
                        "store_linked",
                        "primary",
                        address,
                        "version",
                        primary.info().version(),
                        "replication_id",
                        primary.info().replicationId());
            }
            suspectedAgain = null;
        });
    }

    /** A round is over. */
    private void looked(List<CompletableFuture<Void>> waiting, @Nullable RedisUnusable failure) {
        looking = false;
        if (failure != null) {
            lastFailure = String.valueOf(failure.getMessage());
        }
        for (CompletableFuture<Void> found : waiting) {
            if (linked != null) {
                found.complete(null);
            } else {
                found.completeExceptionally(StoreFailure.unavailable(why()));
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
        } else if (linked == null) {
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
        linked = null;
        lastFailure = why.startsWith("Redis ") ? why : "Redis " + address + " was lost (" + why + ")";
        if (!address.equals(suspectedAgain)) {
            events.warn("store_lost", "primary", address, "message", lastFailure);
        }
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
        Primary primary = linked;
        if (primary != null) {
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
            warned = null;
        } else if (!address.equals(warned)) {
            warned = address;
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
        RedisConnection connection = connection();
        linked = null;
        if (connection != null) {
            connection.close("the link was closed");
        }
        List<CompletableFuture<Void>> waiting = List.copyOf(finders);
        finders.clear();
        waiting.forEach(found -> found.completeExceptionally(StoreFailure.unavailable(why())));
    }

    private boolean isLinked(RedisConnection connection) {
        return connection() == connection;
    }
}
