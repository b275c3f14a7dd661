package dev.palisade.examples.api;

import dev.palisade.client.PalisadeClient;
import dev.palisade.guard.Guard;
import dev.palisade.micrometer.ClientMetrics;
import dev.palisade.micrometer.GuardMetrics;
import io.micrometer.core.instrument.MeterRegistry;

final class BindMetrics {
    private BindMetrics() {}

    static void bind(PalisadeClient palisade, Guard guard, MeterRegistry registry) {
        // snippet
        new ClientMetrics(palisade).bindTo(registry);
        new GuardMetrics(guard).bindTo(registry);
        // end
    }
}
