package dev.palisade.seeded.engine;

import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** Seeded violation. */
public final class KnowsPrometheus {
    static void clear(PrometheusRegistry registry) {
        registry.clear();
    }
}
