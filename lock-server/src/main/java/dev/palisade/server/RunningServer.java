package dev.palisade.server;

import ch.qos.logback.classic.LoggerContext;
import dev.palisade.contract.EventLog;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Listening;
import dev.palisade.contract.cli.OutOfMemoryExit;
import dev.palisade.contract.cli.ShutdownOutput;
import dev.palisade.contract.cli.TerminalEscape;
import dev.palisade.contract.cli.Version;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.CallsInFlight;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.contract.grpc.ReplyBudget;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.core.Limits;
import dev.palisade.server.engine.EngineConfig;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.Timer;
import dev.palisade.server.rpc.Authentication;
import dev.palisade.server.rpc.LocksRpc;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.embedded.EmbeddedStore;
import dev.palisade.server.store.redis.Loop;
import dev.palisade.server.tracing.ServerTracing;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The wiring: store, engine and transport of one lock server, from start to drain. */
final class RunningServer {
    private static final Logger LOG = LoggerFactory.getLogger(RunningServer.class);
    private static final Logger EVENTS = LoggerFactory.getLogger("dev.palisade.events");

    /** The exit code of a process that could not make data durable. */
    private static final int NOT_DURABLE = 70;

    private static final int CALLS_IN_FLIGHT_MAX = 4_096;
    private static final int SESSIONS_MAX = 10_000;
    private static final int LOCKS_PER_SESSION_MAX = 100_000;

    private final OpenedStore store;
    private final ScheduledExecutorService timer;
    private final LockEngine engine;
    private final LocksRpc locks;
    private final HealthStatusManager health;
    private final CallsInFlight inFlight;
    private final Server server;
    private final Transport transport;
    private final Monitoring monitoring;
    private final CredentialFiles files;
    private final Duration drain;

    private RunningServer(
            OpenedStore store,
            ScheduledExecutorService timer,
            LockEngine engine,
            LocksRpc locks,
            HealthStatusManager health,
            CallsInFlight inFlight,
            Server server,
            Transport transport,
            Monitoring monitoring,
            CredentialFiles files,
            Duration drain) {
        this.store = store;
        this.timer = timer;
        this.engine = engine;
        this.locks = locks;
        this.health = health;
        this.inFlight = inFlight;
        this.server = server;
        this.transport = transport;
        this.monitoring = monitoring;
        this.files = files;
        this.drain = drain;
    }

    static RunningServer start(ServerCommand config) throws CannotStart {
        InetSocketAddress address = Listening.on(config.host, config.port);
        Monitoring monitoring = Monitoring.of(config);
        int connectionsMax = ConnectionLimit.fromOpenFiles();
        boolean makesKeyset = Files.notExists(config.keyset);
        ReloadableTls tls = config.tls.load(config.access.clientCertificates(), Instant.now());
        AccessControl access = config.access.load();
        KeysetFile keyset = openKeyset(config);
        SequencerSigning signing = SequencerSigning.open(keyset, config.issuer, config.guardGroups);
        SecureRandom random = new SecureRandom();
        Limits limits = Limits.DEFAULTS;
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "palisade-timer");
            thread.setDaemon(true);
            return thread;
        });
        Timer after = (millis, task) -> {
            var unusedHandle = timer.schedule(logged(task), millis, TimeUnit.MILLISECONDS);
        };
        EventLog events = new EventLog(EVENTS::info, EVENTS::warn, System::nanoTime, EventLog.LINES_PER_SECOND);
        var unused = timer.scheduleAtFixedRate(logged(events::flush), 1, 1, TimeUnit.SECONDS);
        var unusedPauses = timer.scheduleAtFixedRate(
                logged(new PauseLog(System::nanoTime, events)),
                PauseLog.LOOK_MILLIS,
                PauseLog.LOOK_MILLIS,
                TimeUnit.MILLISECONDS);
        SharedKeyset shared = new SharedKeyset(keyset, events);
        OpenedStore opened = OpenedStore.open(config, shared, limits, random, events, RunningServer::halt);
        LockStore store = monitoring.measured(opened.store());
        LockEngine engine = new LockEngine(
                store,
                signing::sign,
                signing::verify,
                new EngineConfig(config.issuer, config.grace.toMillis(), LOCKS_PER_SESSION_MAX, SESSIONS_MAX),
                after,
                events,
                random.generateSeed(32));
        long unsentBytesMax = ReplyBudget.shareOfHeap();
        LocksRpc locks =
                new LocksRpc(engine, limits, Version.text(), CALLS_IN_FLIGHT_MAX, unsentBytesMax, after, encoders());
        Optional<ServerTracing> tracing = ServerTracing.ofProcess();
        tracing.ifPresent(locks::trace);
        CallsInFlight inFlight = new CallsInFlight();
        HealthStatusManager health = new HealthStatusManager();
        StoreHealth storeHealth = new StoreHealth(health, engine::store);
        storeHealth.run();
        var unusedLook = timer.scheduleAtFixedRate(
                logged(storeHealth), StoreHealth.LOOK_MILLIS, StoreHealth.LOOK_MILLIS, TimeUnit.MILLISECONDS);
        Transport transport = transport(opened.loop());
        ConnectionLimit connections = new ConnectionLimit(connectionsMax, events, locks::certificateExpired);
        NettyServerBuilder builder = transport.listen(
                address,
                tls == null ? InsecureServerCredentials.create() : tls.serverCredentials(),
                connections,
                limits);
        if (tls != null) {
            builder.intercept(tls.clientVerification());
        }
        Authentication authentication = access == null
                ? null
                : new Authentication(
                        access, tls == null ? null : tls.clientVerification(), events, engine.rejections());
        CredentialFiles files = new CredentialFiles(tls, access, signing, events);
        Server server = builder.intercept(new ReplyBudget(unsentBytesMax, after::after, engine::refused))
                .addService(ServerAccess.authenticated(
                        ServerInterceptors.intercept(locks.service(), inFlight), authentication))
                .addService(health.getHealthService()) // Open to all: orchestrators have no tokens.
                .addService(ServerAccess.authenticated(
                        ProtoReflectionServiceV1.newInstance().bindService(), authentication))
                .build();
        Rejections.load();
        try {
            if (config.store != null) {
                shared.awaitFirstReply(config.storeTimeout);
            }
            server.start();
            monitoring.open(engine, locks, connections, events, tls, files, authentication);
        } catch (IOException | CannotStart e) {
            server.shutdownNow();
            store.close();
            transport.close();
            end(opened.loop());
            timer.shutdownNow();
            throw e instanceof CannotStart told
                    ? told
                    : new CannotStart("cannot listen on " + config.host + ":" + config.port + " (" + rootMessage(e)
                            + "); choose another with --host and --port");
        }
        RunningServer running = new RunningServer(
                opened, timer, engine, locks, health, inFlight, server, transport, monitoring, files, config.drain);
        if (tls != null) {
            tls.watch(events, () -> {
                locks.authoritiesChanged();
                connections.closeAll();
                monitoring.clientAuthoritiesChanged();
            });
            running.say(config.tls.shown(config.access.clientCertificates()));
        }
        files.watch(locks::accessChanged);
        if (access != null) {
            access.shown().forEach(running::say);
        }
        if (makesKeyset && config.store == null) {
            events.tellAlways("keyset_made", "path", keyset.path());
        } else if (makesKeyset) {
            events.tellAlways(
                    "keyset_made",
                    "path",
                    keyset.path(),
                    "message",
                    "all lock servers of one store need the same keyset: copy it to the others before they start");
        }
        running.say(opened.where());
        if (connectionsMax < ConnectionLimit.CONNECTIONS_MAX) {
            running.say("connections at most " + connectionsMax + ", by the limit of open files (ulimit -n)");
        }
        monitoring.shown().ifPresent(running::say);
        if (tracing.isPresent()) {
            running.say("traces of acquires by the OpenTelemetry of this process");
        }
        signing.shown().ifPresent(running::say);
        running.say("signing keyset " + keyset.path() + ", issuer " + config.issuer);
        running.say("listening on " + config.host + ":" + running.port());
        return running;
    }

    /** With one thread for clients and Redis, if there is one: an answer changes no threads on its way. */
    private static Transport transport(@Nullable Loop loop) {
        return loop == null ? Transport.own() : Transport.on(loop.group(), loop.serverSocket());
    }

    private static Executor encoders() {
        return Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "palisade-listings");
            thread.setDaemon(true);
            return thread;
        });
    }

    private static void end(@Nullable Loop loop) {
        if (loop != null) {
            loop.close();
        }
    }

    /**
     * Drains, for as long as it may: health says no first, no connection is taken, what was asked is answered, then what would
     * not end by itself is ended. No lease and no place in a queue is lost by it.
     */
    void close() {
        long deadline = System.nanoTime() + drain.toNanos();
        ShutdownOutput.print(System.out, "palisade server: stopping");
        monitoring.stops();
        health.enterTerminalState();
        engine.enterDrain();
        server.shutdown();
        var tooLong = timer.schedule(this::giveUp, drain.toNanos(), TimeUnit.NANOSECONDS);
        store.store().close();
        locks.stop();
        try {
            inFlight.awaitNone(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        tooLong.cancel(false);
        server.shutdownNow();
        transport.close();
        end(store.loop()); // Last: the store's answers came by it, and left by it.
        monitoring.close();
        files.close();
        timer.shutdownNow();
        ShutdownOutput.print(System.out, "palisade server: stopped");
    }

    /** The store hangs, on a disk that does not answer. What it has not answered was not promised, so a kill loses nothing. */
    private void giveUp() {
        if (!store.isClosed().getAsBoolean()) {
            ShutdownOutput.run(RunningServer::flushLog);
            ShutdownOutput.print(
                    System.err,
                    "palisade server: not drained within " + drain.toMillis()
                            + " ms (the data directory's disk is slow), stopping at once");
            Runtime.getRuntime().halt(0);
        }
    }

    /** What it listens on. */
    int port() {
        return server.getPort();
    }

    private void say(String line) {
        System.out.println("palisade server: " + TerminalEscape.text(line));
    }

    /** A keyset that is lost is not made anew in silence: no guard would accept what it signs, nor the leases from before. */
    private static KeysetFile openKeyset(ServerCommand config) throws CannotStart {
        if (config.store == null && Files.notExists(config.keyset) && EmbeddedStore.isBegun(config.dataDir)) {
            throw new CannotStart(
                    "signing keyset " + config.keyset + " does not exist, but the leases in data directory "
                            + config.dataDir
                            + " were signed with one; restore it from a copy, such as a guard's, or name it with"
                            + " --keyset. If it is lost, palisade keys add --keyset " + config.keyset
                            + " makes a new one: copy it to all guards, and every holder has to acquire again");
        }
        if (config.store != null && !config.init && Files.notExists(config.keyset)) {
            throw new CannotStart("signing keyset " + config.keyset
                    + " does not exist; lock servers of one store have the same: copy that of another one, or of a guard,"
                    + " or name it with --keyset. Only the first start on a store, with --init, makes one");
        }
        try {
            return KeysetFile.openOrCreate(config.keyset);
        } catch (IOException e) {
            throw new CannotStart(rootMessage(e));
        }
    }

    /** Ends the process at once: after a failed sync nothing may be answered any more, not even by a shutdown hook. */
    private static synchronized void halt(String why) {
        // Synchronized: several threads may learn of it, and one line is enough.
        ShutdownOutput.run(RunningServer::flushLog);
        ShutdownOutput.print(
                System.err,
                "palisade server: cannot make data durable, stopping: " + TerminalEscape.text(why)
                        + "; nothing that was answered is lost: " + advice(why) + ", then start again");
        Runtime.getRuntime().halt(NOT_DURABLE);
    }

    private static String advice(String why) {
        if (why.contains("Too many open files")) {
            return "raise the limit of open files (ulimit -n)";
        }
        return why.contains(OutOfMemoryError.class.getSimpleName())
                ? "give it more memory with -Xmx"
                : "free space or replace the disk";
    }

    /** A process that halts runs no shutdown hook, which does this at an ordinary end. */
    private static void flushLog() {
        if (LoggerFactory.getILoggerFactory() instanceof LoggerContext log) {
            log.stop();
        }
    }

    private static Runnable logged(Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                OutOfMemoryExit.check(e);
                LOG.error("a timed task failed", e);
            }
        };
    }

    private static String rootMessage(Throwable failure) {
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }
}
