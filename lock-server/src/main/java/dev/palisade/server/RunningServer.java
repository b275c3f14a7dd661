package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Listening;
import dev.palisade.contract.cli.Version;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.server.core.Limits;
import dev.palisade.server.engine.EngineConfig;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.rpc.LocksRpc;
import dev.palisade.server.store.embedded.EmbeddedConfig;
import dev.palisade.server.store.embedded.EmbeddedStore;
import dev.palisade.server.store.embedded.StoreUnusable;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The wiring: store, engine and transport of one lock server, from start to drain. */
final class RunningServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RunningServer.class);

    /** The exit code of a process that could not make data durable. */
    private static final int NOT_DURABLE = 70;

    private static final int CALLS_IN_FLIGHT_MAX = 4_096;
    private static final int FRAME_BYTES_MAX = 1 << 20;
    private static final int HEADER_BYTES_MAX = 8 << 10;
    private static final int SESSIONS_MAX = 10_000;
    private static final int LOCKS_PER_SESSION_MAX = 100_000;
    private static final int DRAIN_SECONDS = 5;

    private final EmbeddedStore store;
    private final ScheduledExecutorService timer;
    private final HealthStatusManager health;
    private final Server server;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);

    private RunningServer(
            EmbeddedStore store, ScheduledExecutorService timer, HealthStatusManager health, Server server) {
        this.store = store;
        this.timer = timer;
        this.health = health;
        this.server = server;
    }

    static RunningServer start(ServerCommand config) throws CannotStart {
        InetSocketAddress address = Listening.on(config.host, config.port);
        KeysetFile keyset = openKeyset(config);
        SecureRandom random = new SecureRandom();
        Limits limits = Limits.DEFAULTS;
        EmbeddedStore store = openStore(config, limits, random);
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "palisade-timer");
            thread.setDaemon(true);
            return thread;
        });
        LockEngine engine = new LockEngine(
                store,
                keyset::sign,
                keyset.verifier(config.issuer)::verify,
                new EngineConfig(config.issuer, config.grace.toMillis(), LOCKS_PER_SESSION_MAX, SESSIONS_MAX),
                (millis, task) -> {
                    var unused = timer.schedule(logged(task), millis, TimeUnit.MILLISECONDS);
                },
                random.generateSeed(32));
        HealthStatusManager health = new HealthStatusManager();
        Server server = NettyServerBuilder.forAddress(address)
                .directExecutor()
                .maxInboundMessageSize(FRAME_BYTES_MAX)
                .maxInboundMetadataSize(HEADER_BYTES_MAX)
                // Past the longest lease: silence alone must not end one early.
                .keepAliveTime(limits.ttlMaxMillis() + 60_000, TimeUnit.MILLISECONDS)
                .permitKeepAliveTime(1, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .addService(new LocksRpc(engine, limits, Version.text(), CALLS_IN_FLIGHT_MAX))
                .addService(health.getHealthService())
                .addService(ProtoReflectionServiceV1.newInstance())
                .build();
        try {
            server.start();
        } catch (IOException e) {
            store.close();
            timer.shutdownNow();
            throw new CannotStart("cannot listen on " + config.host + ":" + config.port + " (" + rootMessage(e)
                    + "); choose another with --host and --port");
        }
        RunningServer running = new RunningServer(store, timer, health, server);
        running.say("data directory " + config.dataDir + ", tokens above " + store.epochBase());
        running.say("signing keyset " + keyset.path() + ", issuer " + config.issuer);
        running.say("listening on " + config.host + ":" + server.getPort());
        return running;
    }

    /** Returns when the process is asked to stop. */
    void awaitStop() throws InterruptedException {
        Thread hook = new Thread(
                () -> {
                    stop.countDown();
                    try {
                        stopped.await();
                        // A stop that was asked for is a success; without this the JVM reports the signal.
                        Runtime.getRuntime().halt(0);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "palisade-stop");
        Runtime.getRuntime().addShutdownHook(hook);
        stop.await();
    }

    /** Drains: health says no first, streams end, what was asked is answered, the journal is closed. */
    @Override
    public void close() {
        say("stopping");
        health.enterTerminalState();
        server.shutdown();
        timer.shutdownNow();
        // Before the calls are cut: a waiter whose call a stop cuts has not left the queue.
        store.close();
        // Session streams and waiting calls do not end by themselves; clients reconnect elsewhere or after the restart.
        server.shutdownNow();
        try {
            var unused = server.awaitTermination(DRAIN_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        say("stopped");
        System.out.flush();
        stopped.countDown();
    }

    private void say(String line) {
        System.out.println("palisade server: " + line);
    }

    private static KeysetFile openKeyset(ServerCommand config) throws CannotStart {
        try {
            return KeysetFile.openOrCreate(config.keyset);
        } catch (IOException e) {
            throw new CannotStart(rootMessage(e));
        }
    }

    private static EmbeddedStore openStore(ServerCommand config, Limits limits, SecureRandom random)
            throws CannotStart {
        EmbeddedConfig defaults = EmbeddedConfig.in(config.dataDir);
        try {
            return EmbeddedStore.open(
                    new EmbeddedConfig(
                            config.dataDir,
                            config.locksMax,
                            defaults.unusedMax(),
                            defaults.queueMax(),
                            defaults.historyMax()),
                    limits,
                    System::currentTimeMillis,
                    System::nanoTime,
                    random.nextInt(),
                    RunningServer::halt);
        } catch (StoreUnusable e) {
            throw new CannotStart(rootMessage(e));
        }
    }

    /** Ends the process at once: after a failed sync nothing may be answered any more, not even by a shutdown hook. */
    private static void halt(String why) {
        System.err.println("palisade server: cannot make data durable, stopping: " + why);
        System.err.flush();
        Runtime.getRuntime().halt(NOT_DURABLE);
    }

    private static Runnable logged(Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (RuntimeException e) {
                LOG.error("a timed task failed", e);
            }
        };
    }

    private static String rootMessage(Throwable failure) {
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }
}
