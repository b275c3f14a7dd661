package dev.palisade.admin;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.metric.NoopMeterRegistry;
import com.linecorp.armeria.common.util.TlsEngineType;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.contract.grpc.ReloadableTls;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.util.KeyManagerFactoryWrapper;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * HTTP server of the metrics and the health of a process with a guard, on a port of its own. It reads the guard, and changes nothing.
 * Thread-safe.
 */
public final class AdminServer implements AutoCloseable {
    private static final int CONNECTIONS_MAX = 64;
    private static final int REQUEST_BYTES_MAX = 1_024;
    private static final Duration REQUEST_MAX = Duration.ofSeconds(10);

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Server server;
    private final boolean isTls;

    /**
     * Listens from now on.
     *
     * @param listen port 0 takes a free one
     * @param setting what the user names the address with, for the message
     * @param metrics of the guard
     * @param isServing whether calls are admitted; asked for each request of {@code /health/ready}
     * @param tls of the process's own port, used here too; null for plaintext
     * @param listener label of the certificate's metric
     * @throws IOException in one line, when it cannot listen
     */
    public AdminServer(
            InetSocketAddress listen,
            String setting,
            MeterBinder metrics,
            BooleanSupplier isServing,
            @Nullable ReloadableTls tls,
            String listener)
            throws IOException {
        metrics.bindTo(registry);
        isTls = tls != null;
        // Armeria's own meters are not shown, and two servers would clash.
        ServerBuilder builder = Server.builder().meterRegistry(NoopMeterRegistry.get());
        if (tls != null) {
            observe(tls, listener);
            secure(builder, tls);
        }
        server = builder.port(listen, tls == null ? SessionProtocol.HTTP : SessionProtocol.HTTPS)
                .route()
                .get("/metrics")
                .build((ctx, request) -> HttpResponse.of(
                        HttpStatus.OK, MediaType.parse(PrometheusTextFormatWriter.CONTENT_TYPE), registry.scrape()))
                .route()
                .get("/health/live")
                .build((ctx, request) -> text(HttpStatus.OK, "live"))
                .route()
                .get("/health/ready")
                .build((ctx, request) -> isServing.getAsBoolean()
                        ? text(HttpStatus.OK, "ready")
                        : text(HttpStatus.SERVICE_UNAVAILABLE, "not ready"))
                .workerGroup(1)
                .maxNumConnections(CONNECTIONS_MAX)
                .maxRequestLength(REQUEST_BYTES_MAX)
                .requestTimeout(REQUEST_MAX)
                .idleTimeout(REQUEST_MAX)
                .disableServerHeader()
                .gracefulShutdownTimeout(Duration.ZERO, Duration.ZERO)
                .build();
        try {
            server.start().join();
        } catch (CompletionException e) {
            registry.close();
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new IOException("cannot listen on " + listen.getHostString() + ":" + listen.getPort() + " ("
                    + String.valueOf(cause.getMessage()).lines().findFirst().orElse("no message")
                    + "); choose another address with " + setting);
        }
    }

    private static void secure(ServerBuilder builder, ReloadableTls tls) {
        // The other engine names the authorities of the start to its clients for ever.
        builder.tlsEngineType(TlsEngineType.JDK).tls(new KeyManagerFactoryWrapper(tls.keyManager()));
        if (tls.verifiesClients()) {
            builder.tlsCustomizer(
                    context -> context.trustManager(tls.trustManager()).clientAuth(ClientAuth.REQUIRE));
        }
        // A connection that lasts is refused once its certificate has expired, or its authority is gone.
        ClientVerification clients = tls.clientVerification();
        builder.decorator((next, ctx, request) -> {
            Optional<String> refusal = clients.refusal(ctx.sslSession());
            return refusal.isPresent() ? text(HttpStatus.UNAUTHORIZED, refusal.get()) : next.serve(ctx, request);
        });
    }

    /** As a lock server shows its own, so that the same alerts fit. */
    private void observe(ReloadableTls tls, String listener) {
        Gauge.builder(
                        "palisade.certificate.expiry.timestamp",
                        tls,
                        now -> now.expiresAt().map(Instant::getEpochSecond).orElse(0L))
                .baseUnit("seconds")
                .tag("listener", listener)
                .strongReference(true)
                .register(registry);
        unusable("tls_certificate", tls::isIdentityUsable);
        unusable("tls_client_ca", tls::areAuthoritiesUsable);
    }

    private void unusable(String file, BooleanSupplier isUsable) {
        Gauge.builder("palisade.unusable.files", () -> isUsable.getAsBoolean() ? 0 : 1)
                .tag("file", file)
                .register(registry);
    }

    private static HttpResponse text(HttpStatus status, String text) {
        return HttpResponse.of(status, MediaType.PLAIN_TEXT_UTF_8, text + "\n");
    }

    /** The port that it listens on. */
    public int port() {
        return server.activeLocalPort();
    }

    /** For people: where the metrics are on {@code host}, which is in brackets if it has colons. */
    public String shown(String host) {
        return (isTls ? "https://" : "http://") + host + ":" + port() + "/metrics";
    }

    /** Connections are closed at once. */
    @Override
    public void close() {
        server.stop().join();
        registry.close();
    }
}
