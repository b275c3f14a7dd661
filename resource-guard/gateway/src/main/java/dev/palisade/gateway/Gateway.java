package dev.palisade.gateway;

import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.metric.NoopMeterRegistry;
import com.linecorp.armeria.common.util.EventLoopGroups;
import com.linecorp.armeria.common.util.TlsEngineType;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import dev.palisade.admin.AdminServer;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.guard.Guard;
import dev.palisade.guard.LockService;
import dev.palisade.guard.MarkStore;
import dev.palisade.micrometer.GuardMetrics;
import io.grpc.InsecureChannelCredentials;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.util.KeyManagerFactoryWrapper;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** The parts of {@code palisade gateway} put together, started and stopped. Decides nothing. */
final class Gateway implements AutoCloseable {
    static final int CONNECTIONS_MAX = 2_000;

    /** Connections on their way to be closed. */
    private static final int CLOSING_MAX = 500;

    private static final int CALLS_PER_CONNECTION_MAX = 100;
    private static final int RESETS_MAX = 2_000;
    private static final int RESETS_WINDOW_SECONDS = 10;
    private static final Duration IDLE_CONNECTION = Duration.ofSeconds(60);

    /** Of one stream: what a client may send of a body before the service has taken it. */
    private static final int STREAM_WINDOW_BYTES = 256 << 10;

    /** Beside the calls' own time, for the server to close. */
    private static final Duration CLOSING = Duration.ofSeconds(2);

    private final Guard guard;
    private final GatewayService service;
    private final UpstreamPool upstream;
    private final Server server;
    private final @Nullable OpenRegister register;
    private final @Nullable AdminServer admin;
    private final Duration drain;

    private Gateway(
            Guard guard,
            GatewayService service,
            UpstreamPool upstream,
            Server server,
            @Nullable OpenRegister register,
            @Nullable AdminServer admin,
            Duration drain) {
        this.guard = guard;
        this.service = service;
        this.upstream = upstream;
        this.server = server;
        this.register = register;
        this.admin = admin;
        this.drain = drain;
    }

    /**
     * Opens the mark store, and serves.
     *
     * @throws IOException in one line, when a file cannot be used, or the gateway cannot listen
     * @throws RejectedException MARK_UNAVAILABLE, when the mark store cannot be used
     * @throws ConfigRefused when the service's reflection does not know what the routes name
     */
    static Gateway start(GatewayConfig config, SequencerVerifier verifier, LockService locks)
            throws IOException, ConfigRefused {
        return start(config, verifier, locks, CONNECTIONS_MAX, RunningRequests.withinMemory());
    }

    /** With other bounds than those of the process. */
    static Gateway start(
            GatewayConfig config,
            SequencerVerifier verifier,
            LockService locks,
            int connectionsMax,
            RunningRequests requests)
            throws IOException, ConfigRefused {
        ReloadableTls tls = config.tls() == null ? null : Tls.load(config.tls()::loadServer);
        TlsConfig toUpstream = config.upstream().tls();
        ReloadableTls upstreamTls = toUpstream == null ? null : Tls.load(toUpstream::loadClient);
        MessageLocks messageLocks = messageLocks(config, upstreamTls);
        RegisterConfig shared = config.register();
        OpenRegister register = shared == null ? null : shared.open();
        Guard guard;
        try {
            guard = guard(config, register, verifier, locks);
        } catch (RejectedException e) {
            close(register);
            throw e;
        }
        EventLoopGroup loops = loops(Math.max(2, Runtime.getRuntime().availableProcessors()));
        UpstreamPool upstream = new UpstreamPool(config.upstream(), upstreamTls, loops);
        ClientConnections connections = new ClientConnections(connectionsMax);
        GatewayService service = new GatewayService(
                config,
                messageLocks,
                tls == null ? null : tls.clientVerification(),
                guard,
                upstream,
                connections,
                requests);
        Server server = server(config, tls, service, connections, loops);
        AdminServer admin;
        try {
            admin = config.admin() == null
                    ? null
                    : new AdminServer(
                            config.admin(), "admin", new GuardMetrics(guard), guard::isServing, tls, "gateway");
        } catch (IOException e) {
            guard.close();
            upstream.close();
            close(register);
            throw e;
        }
        try {
            server.start().join();
        } catch (CompletionException e) {
            close(admin);
            guard.close();
            upstream.close();
            close(register);
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IOException("cannot listen on " + text(config.listen()) + " ("
                    + String.valueOf(cause.getMessage()).lines().findFirst().orElse("no message")
                    + "); choose another address with listen");
        }
        return new Gateway(guard, service, upstream, server, register, admin, config.drain());
    }

    private static MessageLocks messageLocks(GatewayConfig config, @Nullable ReloadableTls upstreamTls)
            throws IOException, ConfigRefused {
        if (config.messageLocks() != null) {
            return config.messageLocks();
        }
        Mistakes mistakes = new Mistakes(config.file());
        MessageLocks locks = MessageLocks.of(
                config.routes(),
                ServerReflection.methods(
                        config.upstream().addresses(),
                        upstreamTls == null ? InsecureChannelCredentials.create() : upstreamTls.channelCredentials()),
                mistakes);
        if (!mistakes.isEmpty()) {
            throw new ConfigRefused(mistakes.lines());
        }
        return locks;
    }

    private static Guard guard(
            GatewayConfig config, @Nullable OpenRegister register, SequencerVerifier verifier, LockService locks) {
        RegisterConfig shared = config.register();
        MarkStore marks = shared == null || register == null ? MarkStore.file(config.marks()) : register.marks();
        Guard.Builder builder = Guard.builder(verifier, marks)
                .lockService(locks)
                .protecting(config.protects())
                .maxWait(config.lockWait())
                .unknownOutcomeTimeout(config.unknownOutcomeTimeout());
        if (shared != null && shared.takesOver()) {
            builder.takeOverAfterLease();
        }
        if (config.observeOnly()) {
            builder.observeOnly();
        }
        return builder.build();
    }

    private static void close(@Nullable OpenRegister register) {
        if (register != null) {
            register.close();
        }
    }

    private static void close(@Nullable AdminServer admin) {
        if (admin != null) {
            admin.close();
        }
    }

    /** They end at once: when they are to end, nothing runs on them any more. */
    private static EventLoopGroup loops(int threads) {
        return EventLoopGroups.builder()
                .numThreads(threads)
                .gracefulShutdown(Duration.ZERO, CLOSING)
                .build();
    }

    private static Server server(
            GatewayConfig config,
            @Nullable ReloadableTls tls,
            GatewayService service,
            ClientConnections connections,
            EventLoopGroup loops) {
        Duration quiet = config.drain().compareTo(Duration.ofMillis(100)) < 0 ? Duration.ZERO : Duration.ofMillis(100);
        UnreadReplies unread = new UnreadReplies();
        ServerBuilder builder = Server.builder().meterRegistry(NoopMeterRegistry.get());
        if (tls != null) {
            // The other engine names the authorities of the start to its clients for ever.
            builder.tlsEngineType(TlsEngineType.JDK).tls(new KeyManagerFactoryWrapper(tls.keyManager()));
            if (tls.verifiesClients()) {
                builder.tlsCustomizer(
                        context -> context.trustManager(tls.trustManager()).clientAuth(ClientAuth.REQUIRE));
            }
        }
        return builder.port(config.listen(), tls == null ? SessionProtocol.HTTP : SessionProtocol.HTTPS)
                .workerGroup(loops, false)
                .bossGroupFactory(name -> loops(1))
                .serviceUnder("/", service)
                .errorHandler(new ServerProblems())
                // Bodies have no bound, and time is measured by ActivityTimer.
                .maxRequestLength(0)
                .requestTimeoutMillis(0)
                .idleTimeout(IDLE_CONNECTION)
                .maxNumConnections(CONNECTIONS_MAX + CLOSING_MAX)
                .childChannelPipelineCustomizer(pipeline -> {
                    Http1Check.on(pipeline);
                    BatchedFlushes.on(pipeline);
                    unread.on(pipeline);
                    connections.opened(pipeline.channel());
                })
                .http2MaxStreamsPerConnection(CALLS_PER_CONNECTION_MAX)
                .http2MaxResetFramesPerWindow(RESETS_MAX, RESETS_WINDOW_SECONDS)
                .http2InitialStreamWindowSize(STREAM_WINDOW_BYTES)
                // Nothing that a client writes about its own address is believed.
                .clientAddressSources(List.of())
                .disableServerHeader()
                .gracefulShutdownTimeout(quiet, config.drain())
                .build();
    }

    private static String text(InetSocketAddress address) {
        String host = address.getHostString();
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    int port() {
        return server.activeLocalPort();
    }

    /** Of metrics and health; null: there are none. */
    @Nullable
    AdminServer admin() {
        return admin;
    }

    Guard guard() {
        return guard;
    }

    /**
     * Takes no more requests, waits for those that run, and gives the mark store up. Requests that do not end in time
     * are cut off: their outcome is unknown, and the next start waits for the unknown-outcome timeout.
     *
     * @return whether all of them ended in time
     */
    boolean stop() throws InterruptedException {
        service.drain();
        boolean ended = true;
        try {
            var unused = server.stop().get(drain.plus(CLOSING).toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            ended = false;
        }
        close(admin);
        upstream.close();
        guard.close();
        close(register);
        return ended;
    }

    @Override
    public void close() {
        try {
            stop();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
