package dev.palisade.opentelemetry;

import dev.palisade.client.AcquireObserver;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.ClientObserver;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import java.util.HashMap;
import java.util.Map;

/**
 * A recorder of a client's acquires as spans: {@code client.observe(new ClientTracing(openTelemetry))}. The span {@code palisade.acquire}
 * lasts from the call to its result and is a child of the caller's current span. It has the events {@code queued} and {@code offered}, the
 * lock, the mode, the outcome and, when the lock is granted, the fencing token. The acquire carries the span's context to the lock server,
 * whose own span, where the server records one, is a child. Thread-safe.
 */
public final class ClientTracing implements ClientObserver {
    private final Tracer tracer;

    /** Records with the tracer {@code dev.palisade.client} of {@code openTelemetry}. */
    public ClientTracing(OpenTelemetry openTelemetry) {
        this.tracer = openTelemetry.getTracer("dev.palisade.client");
    }

    @Override
    public AcquireObserver acquiring(LockName lock, AcquireOptions options) {
        return new TracedAcquire(tracer.spanBuilder("palisade.acquire")
                .setSpanKind(SpanKind.CLIENT)
                .setAttribute(SpanAttributes.LOCK, lock.value())
                .setAttribute(SpanAttributes.MODE, options.mode().name())
                .startSpan());
    }

    /** The span of one acquire. */
    private record TracedAcquire(Span span) implements AcquireObserver {
        @Override
        public String traceparent() {
            Map<String, String> headers = new HashMap<>();
            W3CTraceContextPropagator.getInstance().inject(Context.root().with(span), headers, Map::put);
            return headers.getOrDefault("traceparent", "");
        }

        @Override
        public void queued() {
            span.addEvent("queued");
        }

        @Override
        public void offered() {
            span.addEvent("offered");
        }

        @Override
        public void ended(AcquireResult result) {
            if (result instanceof AcquireResult.Granted granted) {
                span.setAttribute(SpanAttributes.OUTCOME, "granted");
                span.setAttribute(SpanAttributes.TOKEN, granted.lease().token().value());
            } else if (result instanceof AcquireResult.Unavailable unavailable) {
                SpanAttributes.refused(span, unavailable.rejection());
                span.setAttribute(SpanAttributes.OUTCOME, "unavailable");
            } else {
                // A lock that others hold is an answer, not an error.
                span.setAttribute(SpanAttributes.OUTCOME, result instanceof AcquireResult.Busy ? "busy" : "timed_out");
            }
            span.end();
        }

        @Override
        public void failed(RuntimeException failure) {
            if (failure instanceof RejectedException rejected) {
                SpanAttributes.refused(span, rejected.rejection());
            } else {
                span.setAttribute(SpanAttributes.OUTCOME, "failed");
                span.setStatus(StatusCode.ERROR, String.valueOf(failure.getMessage()));
            }
            span.end();
        }
    }
}
