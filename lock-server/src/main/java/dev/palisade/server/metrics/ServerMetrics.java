package dev.palisade.server.metrics;

import dev.palisade.contract.Reason;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.RejectionCounts;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Registry of one server's metrics. Every series is there from the start, so that a rate is 0 and not absent before the first event.
 * Gauges are read when Prometheus scrapes. Thread-safe.
 */
public final class ServerMetrics implements AutoCloseable {
    private static final Duration[] LATENCIES = millis(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000);
    private static final Duration[] DURATIONS =
            millis(10, 100, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000);
    private static final Set<String> UNCONVENTIONAL = Set.of("process.cpu.time", "system.cpu.count");
    private static final double[] BATCHES = {1, 2, 5, 10, 20, 50, 100, 200, 500};

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final JvmGcMetrics collections = new JvmGcMetrics();
    /** Held here, because Micrometer holds what a counter is read from by a weak reference. */
    private final List<LongSupplier> counted = new CopyOnWriteArrayList<>();

    public ServerMetrics() {
        // Names that break Prometheus' conventions; process_cpu_usage and the exporter of the machine have the same.
        registry.config().meterFilter(MeterFilter.deny(meter -> UNCONVENTIONAL.contains(meter.getName())));
        collections.bindTo(registry);
        new JvmMemoryMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        new ProcessorMetrics().bindTo(registry);
        new FileDescriptorMetrics().bindTo(registry);
        new UptimeMetrics().bindTo(registry);
    }

    /** What is read at each scrape, from parts of the server that this package does not know. */
    public record Readings(
            LongSupplier streams,
            LongSupplier connections,
            LongSupplier unsentBytes,
            LongSupplier logLinesLimited,
            LongSupplier logLinesUnread) {}

    /**
     * What the server's files are like at each scrape.
     *
     * @param isUsable whether the content of now is in use
     * @param certificateEnd of what the server presents; empty without TLS
     * @param handshakesFailed TLS handshakes at a port
     */
    public record Credentials(
            Predicate<CredentialFile> isUsable,
            Supplier<Optional<Instant>> certificateEnd,
            ToLongFunction<Listener> handshakesFailed) {}

    /** Shows the state of a running server from now on. */
    public void observe(LockEngine engine, Readings readings, Credentials credentials) {
        for (CredentialFile file : CredentialFile.values()) {
            gauge(
                    ServerMetric.UNUSABLE_FILES,
                    file,
                    () -> credentials.isUsable().test(file) ? 0 : 1);
        }
        for (Listener listener : Listener.values()) {
            counter(
                    ServerMetric.TLS_HANDSHAKES_FAILED,
                    listener,
                    () -> credentials.handshakesFailed().applyAsLong(listener));
            gauge(
                    ServerMetric.CERTIFICATE_EXPIRY,
                    listener,
                    () -> credentials
                            .certificateEnd()
                            .get()
                            .map(Instant::getEpochSecond)
                            .map(Long::doubleValue)
                            .orElse(Double.NaN));
        }
        gauge(ServerMetric.LEASES, null, () -> engine.sessionTotals().leases());
        gauge(ServerMetric.WAITERS, null, () -> engine.sessionTotals().waiting());
        gauge(
                ServerMetric.SESSIONS,
                SessionState.CONNECTED,
                () -> engine.sessionTotals().connected());
        gauge(
                ServerMetric.SESSIONS,
                SessionState.GRACE,
                () -> engine.sessionTotals().inGrace());
        gauge(ServerMetric.STREAMS, null, readings.streams()::getAsLong);
        gauge(ServerMetric.CONNECTIONS, null, readings.connections()::getAsLong);
        gauge(ServerMetric.UNSENT, null, readings.unsentBytes()::getAsLong);
        Timer refused = Objects.requireNonNull(
                latencies(ServerMetric.ACQUIRE, AcquireOutcome.class).get(AcquireOutcome.REFUSED));
        // The store times the others; these never come to it.
        engine.onRefusedAcquire(() -> refused.record(0, TimeUnit.NANOSECONDS));
        RejectionCounts rejections = engine.rejections();
        for (Reason reason : Reason.values()) {
            counter(ServerMetric.REFUSALS, reason, () -> rejections.of(reason));
        }
        counter(ServerMetric.LOG_LINES_DROPPED, LogDrop.RATE, readings.logLinesLimited());
        counter(ServerMetric.LOG_LINES_DROPPED, LogDrop.UNREAD, readings.logLinesUnread());
        gauge(ServerMetric.STORE_UP, null, () -> engine.store().up() ? 1 : 0);
        gauge(ServerMetric.STANDBY, null, () -> engine.store().standby() ? 1 : 0);
        epoch(ServerMetric.EPOCH_START, engine, StoreStatus.Epoch::beganAtMillis);
        epoch(ServerMetric.TOKEN_AHEAD, engine, StoreStatus.Epoch::aheadMillis);
        epoch(ServerMetric.RECOVERING, engine, StoreStatus.Epoch::recoveringMillis);
    }

    /** A time of the present epoch: in milliseconds, shown in seconds. */
    private void epoch(ServerMetric metric, LockEngine engine, ToDoubleFunction<StoreStatus.Epoch> millis) {
        gauge(
                metric,
                null,
                () -> engine.store().epoch().map(millis::applyAsDouble).orElse(0.0) / 1_000);
    }

    private void gauge(ServerMetric metric, @Nullable Enum<?> label, Supplier<Number> value) {
        Gauge.builder(metric.meter(), value)
                .description(metric.meaning())
                .baseUnit(metric.unit())
                .tags(tags(metric, label))
                .register(registry);
    }

    private void counter(ServerMetric metric, Enum<?> label, LongSupplier value) {
        counted.add(value);
        FunctionCounter.builder(metric.meter(), value, LongSupplier::getAsLong)
                .description(metric.meaning())
                .baseUnit(metric.unit())
                .tags(tags(metric, label))
                .register(registry);
    }

    Counter counter(ServerMetric metric) {
        return Counter.builder(metric.meter()).description(metric.meaning()).register(registry);
    }

    <E extends Enum<E>> Map<E, Counter> counters(ServerMetric metric, Class<E> labels) {
        Map<E, Counter> counters = new EnumMap<>(labels);
        for (E label : labels.getEnumConstants()) {
            counters.put(
                    label,
                    Counter.builder(metric.meter())
                            .description(metric.meaning())
                            .tags(tags(metric, label))
                            .register(registry));
        }
        return counters;
    }

    <E extends Enum<E>> Map<E, Timer> latencies(ServerMetric metric, Class<E> labels) {
        return timers(metric, labels, LATENCIES);
    }

    <E extends Enum<E>> Map<E, Timer> durations(ServerMetric metric, Class<E> labels) {
        return timers(metric, labels, DURATIONS);
    }

    private <E extends Enum<E>> Map<E, Timer> timers(ServerMetric metric, Class<E> labels, Duration... buckets) {
        Map<E, Timer> timers = new EnumMap<>(labels);
        for (E label : labels.getEnumConstants()) {
            timers.put(
                    label,
                    Timer.builder(metric.meter())
                            .description(metric.meaning())
                            .tags(tags(metric, label))
                            .serviceLevelObjectives(buckets)
                            .register(registry));
        }
        return timers;
    }

    DistributionSummary batches() {
        return DistributionSummary.builder(ServerMetric.STORE_BATCH.meter())
                .description(ServerMetric.STORE_BATCH.meaning())
                .serviceLevelObjectives(BATCHES)
                .register(registry);
    }

    private static Tags tags(ServerMetric metric, @Nullable Enum<?> label) {
        return label == null ? Tags.empty() : Tags.of(metric.labelKey(), ServerMetric.labelValue(label));
    }

    private static Duration[] millis(long... millis) {
        return java.util.Arrays.stream(millis).mapToObj(Duration::ofMillis).toArray(Duration[]::new);
    }

    /**
     * One exposition.
     *
     * @param contentType of the text, with its version
     */
    public record Exposition(String contentType, String text) {}

    /**
     * All metrics of now.
     *
     * @param accepted values of the header Accept; OpenMetrics if one asks for it
     */
    public Exposition scrape(List<String> accepted) {
        boolean open = accepted.stream().anyMatch(value -> value.contains("application/openmetrics-text"));
        String type = open ? OpenMetricsTextFormatWriter.CONTENT_TYPE : PrometheusTextFormatWriter.CONTENT_TYPE;
        return new Exposition(type, registry.scrape(type));
    }

    @Override
    public void close() {
        collections.close();
        registry.close();
    }
}
