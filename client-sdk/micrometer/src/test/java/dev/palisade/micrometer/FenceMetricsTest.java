package dev.palisade.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.guard.GuardStats;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class FenceMetricsTest {
    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final AtomicReference<GuardStats> stats = new AtomicReference<>(new GuardStats(0, Map.of(), Map.of(), 0));

    private double refusals(Reason reason) {
        return registry.get("palisade.guard.refusals")
                .tags("fence", "orders", "reason", reason.name())
                .functionCounter()
                .count();
    }

    @Test
    void metersFollowTheCountsOfTheFence() {
        new FenceMetrics(stats::get, Tags.of("fence", "orders")).bindTo(registry);
        System.gc(); // A supplier that nothing keeps would be gone now, and the meters with it.
        stats.set(new GuardStats(7, Map.of(Reason.TOKEN_STALE, 2L), Map.of(), 3));
        assertThat(registry.get("palisade.guard.admissions").functionCounter().count())
                .isEqualTo(7);
        assertThat(refusals(Reason.TOKEN_STALE)).isEqualTo(2);
        assertThat(refusals(Reason.DRAINING)).isZero();
        assertThat(registry.get("palisade.guard.waiting").gauge().value()).isEqualTo(3);
        assertThat(registry.find("palisade.guard.serving").gauges())
                .as("what a fence does not count")
                .isEmpty();
    }
}
