package dev.palisade.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** The registration of one object's meters, all with the application's tags and a description. */
final class Meters {
    /** From an acquire without contention to a hold of an hour. */
    private static final Duration[] BUCKETS = LongStream.of(
                    1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000)
            .mapToObj(Duration::ofMillis)
            .toArray(Duration[]::new);

    private final MeterRegistry registry;
    private final Iterable<Tag> tags;

    Meters(MeterRegistry registry, Iterable<Tag> tags) {
        this.registry = registry;
        this.tags = tags;
    }

    /** Nanoseconds of the registry's monotonic clock. */
    long nanos() {
        return registry.config().clock().monotonicTime();
    }

    /** The timers of one metric, by label. */
    record Timers<E extends Enum<E>>(Map<E, Timer> byLabel) {
        void record(E label, long nanos) {
            Objects.requireNonNull(byLabel.get(label)).record(nanos, TimeUnit.NANOSECONDS);
        }
    }

    <E extends Enum<E>> Timers<E> timers(LibraryMetric metric, Class<E> labels) {
        Map<E, Timer> timers = new EnumMap<>(labels);
        for (E label : labels.getEnumConstants()) {
            timers.put(
                    label,
                    Timer.builder(metric.meter())
                            .description(metric.meaning())
                            .tags(tags(metric, label))
                            .serviceLevelObjectives(BUCKETS)
                            .register(registry));
        }
        return new Timers<>(timers);
    }

    <E extends Enum<E>> Map<E, Counter> counters(LibraryMetric metric, Class<E> labels) {
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

    /** A counter that is read from {@code source}, which the registry does not keep from being collected. */
    <T> void counter(LibraryMetric metric, @Nullable Enum<?> label, T source, ToDoubleFunction<T> count) {
        FunctionCounter.builder(metric.meter(), source, count)
                .description(metric.meaning())
                .tags(tags(metric, label))
                .register(registry);
    }

    /** A gauge of {@code source}, which the registry does not keep from being collected. */
    <T> void gauge(LibraryMetric metric, T source, ToDoubleFunction<T> value) {
        Gauge.builder(metric.meter(), source, value)
                .description(metric.meaning())
                .tags(tags)
                .register(registry);
    }

    private Tags tags(LibraryMetric metric, @Nullable Enum<?> label) {
        return label == null ? Tags.of(tags) : Tags.of(tags).and(metric.labelKey(), LibraryMetric.labelValue(label));
    }
}
