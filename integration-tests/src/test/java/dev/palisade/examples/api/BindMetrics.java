package dev.palisade.examples.api;

import dev.palisade.client.PalisadeClient;
import dev.palisade.guard.FencedJdbc;
import dev.palisade.guard.Guard;
import dev.palisade.micrometer.ClientMetrics;
import dev.palisade.micrometer.FenceMetrics;
import dev.palisade.micrometer.GuardMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;

final class BindMetrics {
    private BindMetrics() {}

    static void bind(PalisadeClient palisade, Guard guard, FencedJdbc fenced, MeterRegistry registry) {
        // snippet
        new ClientMetrics(palisade).bindTo(registry);
        new GuardMetrics(guard, Tags.of("guard", "files")).bindTo(registry);
        new FenceMetrics(fenced::stats, Tags.of("guard", "orders-db")).bindTo(registry);
        // end
    }
}
