package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.opentelemetry.ClientTracing;
import dev.palisade.server.tracing.ServerTracing;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Spans of clients and of the lock server in one trace, although all acquires of a client share one stream. */
class SharedTraceTest {
    @RegisterExtension
    static final OpenTelemetryExtension TELEMETRY = OpenTelemetryExtension.create();

    private final FakePalisade fake = FakePalisade.start();
    private PalisadeClient palisade;

    @BeforeEach
    void trace() {
        fake.stopServer();
        fake.trace(new ServerTracing(TELEMETRY.getOpenTelemetry()));
        fake.startServer();
        palisade = fake.client("orders");
        palisade.observe(new ClientTracing(TELEMETRY.getOpenTelemetry()));
    }

    @AfterEach
    void close() {
        fake.close();
    }

    private static Span caller(String name) {
        return TELEMETRY.getOpenTelemetry().getTracer("test").spanBuilder(name).startSpan();
    }

    private static SpanData acquire(SpanKind kind, String lock) {
        List<SpanData> found = TELEMETRY.getSpans().stream()
                .filter(span -> span.getKind() == kind
                        && lock.equals(span.getAttributes().get(AttributeKey.stringKey("palisade.lock"))))
                .toList();
        assertThat(found).as(TELEMETRY.getSpans().toString()).hasSize(1);
        return found.get(0);
    }

    @Test
    void eachServerSpanIsAChildOfItsOwnCallersSpan() throws Exception {
        for (String lock : List.of("orders/1", "orders/2")) {
            Span caller = caller(lock);
            try (Scope scope = caller.makeCurrent()) {
                assertThat(scope).isNotNull();
                try (Lease lease = palisade.acquire(lock)) {
                    caller.end();
                    SpanData client = acquire(SpanKind.CLIENT, lock);
                    SpanData server = acquire(SpanKind.SERVER, lock);
                    assertThat(client.getParentSpanId())
                            .isEqualTo(caller.getSpanContext().getSpanId());
                    assertThat(server.getParentSpanId()).isEqualTo(client.getSpanId());
                    assertThat(server.getTraceId())
                            .isEqualTo(caller.getSpanContext().getTraceId());
                    assertThat(server.getAttributes().get(AttributeKey.longKey("palisade.token")))
                            .isEqualTo(lease.token().value());
                }
            }
        }
    }

    @Test
    void aWaitAtTheServerHasItsEvents() throws Exception {
        Lease other = fake.hold("orders/3");
        Span caller = caller("waits");
        CompletableFuture<Lease> waiting;
        try (Scope scope = caller.makeCurrent()) {
            assertThat(scope).isNotNull();
            waiting = palisade.acquireAsync("orders/3", AcquireOptions.waiting(Duration.ofMinutes(1)))
                    .thenApply(result -> ((AcquireResult.Granted) result).lease())
                    .toCompletableFuture();
        }
        fake.advance(Duration.ofSeconds(5));
        other.close();
        Lease lease = waiting.get();
        fake.advance(Duration.ofSeconds(1));
        SpanData server = TELEMETRY.getSpans().stream()
                .filter(span -> span.getKind() == SpanKind.SERVER
                        && span.getTraceId().equals(caller.getSpanContext().getTraceId()))
                .findFirst()
                .orElseThrow();
        assertThat(server.getEvents()).extracting(EventData::getName).containsExactly("queued", "offered");
        assertThat(server.getAttributes().get(AttributeKey.stringKey("palisade.outcome")))
                .isEqualTo("granted");
        assertThat(server.getAttributes().get(AttributeKey.longKey("palisade.token")))
                .isEqualTo(lease.token().value());
        lease.close();
    }
}
