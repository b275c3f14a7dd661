package dev.palisade.server;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Listening;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.server.admin.AdminApi;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.metrics.MeteredStore;
import dev.palisade.server.metrics.ServerMetrics;
import dev.palisade.server.rpc.Authentication;
import dev.palisade.server.rpc.InProcessLocks;
import dev.palisade.server.rpc.LocksRpc;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Metrics and admin port of one server, if it has an admin port. Without one nothing is measured and no class of a metrics library is
 * loaded. Not for several threads, but {@link #stops}.
 */
final class Monitoring implements AutoCloseable {
    private static final long IDLE_SECONDS = 60;

    private final @Nullable InetSocketAddress address;
    private final @Nullable ServerMetrics metrics;
    /** Replies to the page are made here, not on the threads that serve locks. */
    private final ThreadPoolExecutor replies = new ThreadPoolExecutor(
            0,
            1,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            new DefaultThreadFactory("palisade-admin-api", true));

    private @Nullable AdminPort admin;
    private volatile boolean stopping;

    private Monitoring(@Nullable InetSocketAddress address) {
        this.address = address;
        this.metrics = address == null ? null : new ServerMetrics();
    }

    /** @throws CannotStart if the admin port cannot be listened on */
    static Monitoring of(ServerCommand config) throws CannotStart {
        return new Monitoring(
                config.adminPort == null
                        ? null
                        : Listening.on(config.adminHost, config.adminPort, "--admin-host", "--admin-port"));
    }

    /** The store to be used in place of {@code store}. */
    LockStore measured(LockStore store) {
        return metrics == null ? store : new MeteredStore(store, metrics, System::nanoTime);
    }

    /** Opens the admin port, if there is to be one. */
    void open(
            LockEngine engine,
            LocksRpc locks,
            ConnectionLimit connections,
            EventLog events,
            @Nullable ReloadableTls tls,
            CredentialFiles files,
            @Nullable Authentication authentication)
            throws CannotStart {
        if (metrics == null || address == null) {
            return;
        }
        metrics.observe(
                engine,
                new ServerMetrics.Readings(
                        locks::openStreams,
                        connections::open,
                        locks::unsentBytes,
                        events::notShown,
                        ServerLog::leftOut),
                new ServerMetrics.Credentials(
                        files::isUsable,
                        () -> tls == null ? Optional.empty() : tls.expiresAt(),
                        connections.handshakes()::failed));
        AdminApi api = new AdminApi(
                new InProcessLocks(locks, engine, authentication, replies, System::nanoTime),
                System::currentTimeMillis);
        admin = AdminPort.open(
                address,
                tls,
                authentication,
                metrics,
                () -> unready(engine),
                api,
                connections.handshakes(),
                AdminPort.Times.DEFAULTS);
    }

    /** For all that can connect: without the store's address, or what it said. */
    private Optional<String> unready(LockEngine engine) {
        if (stopping) {
            return Optional.of("the server is stopping");
        }
        return engine.store().up()
                ? Optional.empty()
                : Optional.of(engine.standby()
                        .map(Monitoring::standsBy)
                        .orElse("the store cannot decide; palisade status has the cause"));
    }

    private static String standsBy(StoreFailure standby) {
        String active = standby.activeAddress();
        return "this lock server is a standby; "
                + (active.isEmpty() ? "the active one is not known" : active + " is active");
    }

    /** After the authorities of client certificates changed: connections that last begin anew. */
    void clientAuthoritiesChanged() {
        if (admin != null) {
            admin.endStreams();
        }
    }

    /** What a start says of it. */
    Optional<String> shown() {
        return Optional.ofNullable(admin)
                .map(port -> "admin page " + port.shown() + "/, metrics and health at " + port.shown() + "/metrics");
    }

    /** From now on the server is not ready. */
    void stops() {
        stopping = true;
    }

    @Override
    public void close() {
        if (admin != null) {
            admin.close();
        }
        replies.shutdown();
    }
}
