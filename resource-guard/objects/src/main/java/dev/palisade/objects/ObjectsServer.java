package dev.palisade.objects;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.palisade.admin.AdminServer;
import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.contract.grpc.CallsInFlight;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.ReplyBudget;
import dev.palisade.contract.grpc.RequestDecoder;
import dev.palisade.guard.FencedJdbc;
import dev.palisade.guard.GuardStats;
import dev.palisade.micrometer.FenceMetrics;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Composition of the parts of `palisade objects`, which it starts and stops. Decides nothing. */
final class ObjectsServer {
    private static final Logger EVENTS = LoggerFactory.getLogger("dev.palisade.events");

    private static final int THREADS = 16;
    private static final int QUEUED_CALLS_MAX = 64;
    private static final int CALLS_PER_CONNECTION_MAX = 100;
    private static final int RESETS_MAX = 2_000;
    private static final int RESETS_WINDOW_SECONDS = 10;
    private static final int IDLE_CONNECTION_SECONDS = 60;

    /** Room for the key and the rest of a message around an object; larger ones are cut off before they are read. */
    private static final int MESSAGE_SLACK_BYTES = 64 << 10;

    private final HikariDataSource pool;
    private final LogCleanup cleanup;
    private final BoundedExecutor executor;
    private final HealthStatusManager health;
    private final CallsInFlight inFlight;
    private final Server server;
    private final LockServerOptions.@Nullable Reporting reporting;
    private final AtomicBoolean serving;
    private final @Nullable AdminServer admin;

    private ObjectsServer(
            HikariDataSource pool,
            LogCleanup cleanup,
            BoundedExecutor executor,
            HealthStatusManager health,
            CallsInFlight inFlight,
            Server server,
            LockServerOptions.@Nullable Reporting reporting,
            AtomicBoolean serving,
            @Nullable AdminServer admin) {
        this.pool = pool;
        this.cleanup = cleanup;
        this.executor = executor;
        this.health = health;
        this.inFlight = inFlight;
        this.server = server;
        this.reporting = reporting;
        this.serving = serving;
        this.admin = admin;
    }

    /**
     * @param admin where metrics and health are served; null: nowhere
     * @param tls null: in plaintext
     * @param reporting of refusals; null: none are reported
     */
    record Options(
            InetSocketAddress address,
            @Nullable InetSocketAddress admin,
            @Nullable ReloadableTls tls,
            String jdbcUrl,
            String jdbcUser,
            String jdbcPassword,
            String issuer,
            LockTemplate template,
            ObjectLimits limits,
            LogRetention retention,
            boolean guardOn,
            LockServerOptions.@Nullable Reporting reporting) {}

    /** @throws CannotStart in one line, when the database or the port cannot be used */
    static ObjectsServer start(Options options, SequencerVerifier verifier) throws CannotStart {
        HikariDataSource pool = open(options);
        AtomicBoolean serving = new AtomicBoolean();
        AdminServer admin = null;
        try {
            FencedJdbc fenced = FencedJdbc.create(pool, verifier).withoutEvents();
            if (options.reporting() != null) {
                fenced = fenced.withReports(options.reporting().reports());
            }
            fenced.createTable();
            try (Connection connection = pool.getConnection()) {
                Schema.create(connection);
                Schema.requireSetting(
                        connection, "lock-template", options.template().toString());
                Schema.requireSetting(connection, "issuer", options.issuer());
            }
            BoundedExecutor executor = new BoundedExecutor(THREADS, QUEUED_CALLS_MAX);
            ObjectStore store =
                    new ObjectStore(pool, fenced, verifier, options.template(), options.limits(), options.guardOn());
            EventLog events = new EventLog(EVENTS::info, EVENTS::warn, System::nanoTime, EventLog.LINES_PER_SECOND);
            Refusals refusals = new Refusals(events);
            CallDispatcher dispatcher = new CallDispatcher(executor, events, refusals);
            admin = admin(options, fenced, refusals, serving::get);
            CallsInFlight inFlight = new CallsInFlight();
            HealthStatusManager health = new HealthStatusManager();
            NettyServerBuilder builder = NettyServerBuilder.forAddress(
                    options.address(),
                    options.tls() == null
                            ? InsecureServerCredentials.create()
                            : options.tls().serverCredentials());
            if (options.tls() != null) {
                builder.intercept(options.tls().clientVerification());
                options.tls().watch(events, () -> {}); // Every call is verified by the authorities of its time.
            }
            Server server = builder
                    // Handlers only submit, so they may run on the event loop; JDBC runs on the bounded executor.
                    .directExecutor()
                    .maxConcurrentCallsPerConnection(CALLS_PER_CONNECTION_MAX)
                    .maxRstFramesPerWindow(RESETS_MAX, RESETS_WINDOW_SECONDS)
                    .maxConnectionIdle(IDLE_CONNECTION_SECONDS, TimeUnit.SECONDS)
                    .maxInboundMessageSize(options.limits().objectBytesMax() + MESSAGE_SLACK_BYTES)
                    .intercept(new SequencerCapture())
                    .intercept(new ReplyBudget(ReplyBudget.shareOfHeap(), ObjectsServer::after, refusals::refused))
                    .addService(served(new ObjectsService(store, dispatcher, options.issuer()), inFlight, refusals))
                    .addService(served(new MarkService(store, dispatcher, options.issuer()), inFlight, refusals))
                    .addService(health.getHealthService())
                    .addService(ProtoReflectionServiceV1.newInstance())
                    .build()
                    .start();
            health.setStatus("palisade.v1.Objects", ServingStatus.SERVING);
            health.setStatus("palisade.v1.Guard", ServingStatus.SERVING);
            LogCleanup cleanup = new LogCleanup(pool, options.retention());
            cleanup.start(Instant::now);
            serving.set(true);
            return new ObjectsServer(
                    pool, cleanup, executor, health, inFlight, server, options.reporting(), serving, admin);
        } catch (SQLException e) {
            close(admin);
            pool.close();
            throw new CannotStart("database " + withoutSecrets(options.jdbcUrl()) + " cannot be used: " + cause(e));
        } catch (IOException e) {
            close(admin);
            pool.close();
            throw new CannotStart("cannot listen on " + options.address() + " (" + cause(e)
                    + "); choose another with --host and --port");
        } catch (CannotStart e) {
            pool.close();
            throw e;
        }
    }

    /** @return null where none is asked for */
    private static @Nullable AdminServer admin(
            Options options, FencedJdbc fenced, Refusals refusals, BooleanSupplier isServing) throws CannotStart {
        if (options.admin() == null) {
            return null;
        }
        MeterBinder metrics = new FenceMetrics(() -> {
            GuardStats stats = fenced.stats();
            return new GuardStats(stats.admitted(), refusals.counts(), Map.of(), stats.waiting());
        });
        try {
            return new AdminServer(
                    options.admin(), "--admin-host and --admin-port", metrics, isServing, options.tls(), "objects");
        } catch (IOException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }

    private static void close(@Nullable AdminServer admin) {
        if (admin != null) {
            admin.close();
        }
    }

    private static void after(long millis, Runnable task) {
        CompletableFuture.delayedExecutor(millis, TimeUnit.MILLISECONDS).execute(task);
    }

    private static ServerServiceDefinition served(BindableService service, CallsInFlight inFlight, Refusals refusals) {
        return RequestDecoder.of(ServerInterceptors.intercept(service, inFlight), refusals::refused);
    }

    private static HikariDataSource open(Options options) throws CannotStart {
        HikariConfig config = new HikariConfig();
        config.setPoolName("palisade-objects");
        config.setJdbcUrl(options.jdbcUrl());
        config.setUsername(options.jdbcUser());
        config.setPassword(options.jdbcPassword());
        config.setMaximumPoolSize(THREADS);
        config.setConnectionTimeout(5_000);
        config.setInitializationFailTimeout(5_000);
        try {
            return new HikariDataSource(config);
        } catch (RuntimeException e) {
            throw new CannotStart("database " + withoutSecrets(options.jdbcUrl()) + " cannot be opened: " + cause(e)
                    + "; nothing was changed: "
                    + (options.jdbcUrl().startsWith("jdbc:h2:file:")
                            ? "mend or restore it"
                            : "check that it runs, the URL and the user"));
        }
    }

    /** The innermost reason in one line: pools and drivers wrap it several times. */
    private static String cause(Throwable failure) {
        Throwable innermost = failure;
        while (innermost.getCause() != null && innermost.getCause() != innermost) {
            innermost = innermost.getCause();
        }
        String message = innermost.getMessage() == null ? innermost.toString() : innermost.getMessage();
        return message.lines().findFirst().orElse(innermost.toString());
    }

    /** Parameters of a JDBC URL may hold a password. */
    static String withoutSecrets(String url) {
        return url.split("[?;]", 2)[0];
    }

    int port() {
        return server.getPort();
    }

    /** Of metrics and health; null: there are none. */
    @Nullable
    AdminServer admin() {
        return admin;
    }

    /**
     * Health says no first; then no connection is taken and the running calls end. What has not ended when the time is over is
     * cut off: its callers do not know whether it was applied.
     *
     * @return whether every call ended in time
     */
    boolean drain(Duration wait) throws InterruptedException {
        long deadline = System.nanoTime() + wait.toNanos();
        serving.set(false);
        health.enterTerminalState();
        server.shutdown();
        boolean ended = inFlight.awaitNone(wait.toNanos(), TimeUnit.NANOSECONDS);
        server.shutdownNow();
        // A call that was cancelled has left its statement behind.
        return executor.drain(Duration.ofNanos(Math.max(0, deadline - System.nanoTime()))) && ended;
    }

    /**
     * Closes the database, after {@link #drain}.
     *
     * @return false when that takes longer than {@code wait}: it goes on, and nothing that was answered depends on it
     */
    boolean close(Duration wait) throws InterruptedException {
        cleanup.close();
        close(admin);
        if (reporting != null) {
            reporting.close();
        }
        Thread closing = new Thread(pool::close, "palisade-objects-closing");
        closing.setDaemon(true);
        closing.start();
        closing.join(wait.toMillis());
        return !closing.isAlive();
    }
}
