package dev.palisade.examples.api;

import dev.palisade.client.PalisadeClient;
import dev.palisade.guard.Guard;
import dev.palisade.opentelemetry.ClientTracing;
import dev.palisade.opentelemetry.GuardTracing;
import io.opentelemetry.api.OpenTelemetry;

final class RecordTraces {
    private RecordTraces() {}

    static void record(PalisadeClient palisade, Guard guard, OpenTelemetry openTelemetry) {
        // snippet
        palisade.observe(new ClientTracing(openTelemetry));
        guard.observe(new GuardTracing(openTelemetry));
        // end
    }
}
