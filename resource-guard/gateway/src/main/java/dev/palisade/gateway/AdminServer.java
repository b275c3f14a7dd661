package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.common.metric.NoopMeterRegistry;
import com.linecorp.armeria.server.Server;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.guard.Guard;
import dev.palisade.micrometer.GuardMetrics;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** HTTP server of a gateway's metrics and health, on a port of its own. It reads the guard, and changes nothing. */
final class AdminServer implements AutoCloseable {
    private static final int CONNECTIONS_MAX = 64;
    private static final int REQUEST_BYTES_MAX = 1_024;
    private static final Duration REQUEST_MAX = Duration.ofSeconds(10);

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Server server;

    /**
     * @param tls of the gateway's own port; null for plaintext
     * @throws IOException in one line, when it cannot listen
     */
    AdminServer(InetSocketAddress listen, Guard guard, @Nullable ReloadableTls tls) throws IOException {
        new GuardMetrics(guard).bindTo(registry);
        if (tls != null) {
            observe(tls);
        }
        server = Server.builder()
                .port(listen, SessionProtocol.HTTP)
                .meterRegistry(
                        NoopMeterRegistry.get()) // Armeria's own meters are not shown, and two servers would clash.
                .route()
                .get("/metrics")
                .build((ctx, request) -> HttpResponse.of(
                        HttpStatus.OK, MediaType.parse(PrometheusTextFormatWriter.CONTENT_TYPE), registry.scrape()))
                .route()
                .get("/health/live")
                .build((ctx, request) -> text(HttpStatus.OK, "live"))
                .route()
                .get("/health/ready")
                .build((ctx, request) -> guard.isServing()
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
                    + "); choose another address with admin");
        }
    }

    /** As a lock server shows its own, so that the same alerts fit. */
    private void observe(ReloadableTls tls) {
        Gauge.builder(
                        "palisade.certificate.expiry.timestamp",
                        tls,
                        now -> now.expiresAt().map(Instant::getEpochSecond).orElse(0L))
                .baseUnit("seconds")
                .tag("listener", "gateway")
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

    int port() {
        return server.activeLocalPort();
    }

    @Override
    public void close() {
        server.stop().join();
        registry.close();
    }
}
