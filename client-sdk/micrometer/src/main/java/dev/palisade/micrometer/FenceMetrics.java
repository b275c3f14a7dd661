package dev.palisade.micrometer;

import dev.palisade.contract.Reason;
import dev.palisade.guard.GuardStats;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.List;
import java.util.function.Supplier;

/**
 * A binder of the metrics of one fence in a store: {@code new FenceMetrics(fence::stats)} for {@code FencedJdbc}, {@code FencedRedis} and
 * {@code FencedS3}. Their names are those of a guard's metrics; what a fence does not count is not bound. No lock's name is a label.
 * Thread-safe.
 */
public final class FenceMetrics implements MeterBinder {
    private final Supplier<GuardStats> stats;
    private final Iterable<Tag> tags;

    /** Metrics of one fence, without tags; for an application with one fence and no {@link GuardMetrics}. */
    public FenceMetrics(Supplier<GuardStats> stats) {
        this(stats, List.of());
    }

    /**
     * @param stats of the fence; all copies of a fence have the same, but those made by {@code withoutEvents}
     * @param tags of each metric, to tell several fences and guards of one application apart; always with the same keys
     */
    public FenceMetrics(Supplier<GuardStats> stats, Iterable<Tag> tags) {
        this.stats = stats;
        this.tags = tags;
    }

    /** Binds the metrics to {@code registry}, which keeps the fence from being collected. To be called once for each registry. */
    @Override
    public void bindTo(MeterRegistry registry) {
        Meters meters = new Meters(registry, tags);
        // Each function has the supplier itself: the registry alone would not keep it.
        Supplier<GuardStats> now = stats;
        meters.counter(
                LibraryMetric.GUARD_ADMISSIONS, null, now, any -> now.get().admitted());
        for (Reason reason : Reason.values()) {
            meters.counter(
                    LibraryMetric.GUARD_REFUSALS,
                    reason,
                    now,
                    any -> now.get().refused().getOrDefault(reason, 0L));
        }
        meters.gauge(LibraryMetric.GUARD_WAITING, now, any -> now.get().waiting());
    }
}
