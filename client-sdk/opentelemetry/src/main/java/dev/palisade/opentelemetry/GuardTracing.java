package dev.palisade.opentelemetry;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import io.grpc.ServerInterceptor;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.Tracer;
import java.util.List;

/**
 * A recorder of the calls at a guard as spans: {@code guard.observe(new GuardTracing(openTelemetry))}. The span {@code palisade.guard}
 * lasts from the arrival of a call to its admission, and is a child of the current span. It has the lock, the resource, the outcome and
 * the fencing token; a refusal is a failed span with the reason. Thread-safe.
 */
public final class GuardTracing implements Admission.Observer {
    private final OpenTelemetry openTelemetry;
    private final Tracer tracer;

    /** Records with the tracer {@code dev.palisade.guard} of {@code openTelemetry}. */
    public GuardTracing(OpenTelemetry openTelemetry) {
        this.openTelemetry = openTelemetry;
        this.tracer = openTelemetry.getTracer("dev.palisade.guard");
    }

    /**
     * Makes the trace context of a gRPC call's headers current for the guard, by the propagators of the OpenTelemetry of this. For services
     * without another instrumentation of gRPC. Put it outside of the {@code GuardInterceptor}. A handler whose call had to wait runs on the
     * guard's executor, without this context.
     */
    public ServerInterceptor callerContext() {
        return new CallerContext(openTelemetry.getPropagators().getTextMapPropagator());
    }

    private SpanBuilder span() {
        return tracer.spanBuilder("palisade.guard");
    }

    @Override
    public Admission.Arrival arriving(SignedSequencer signed, Access access, List<Binding> resources) {
        Binding first = resources.get(0);
        return new TracedArrival(
                span().setAttribute(SpanAttributes.LOCK, first.lock().value())
                        .setAttribute(SpanAttributes.RESOURCE, first.resource())
                        .startSpan());
    }

    @Override
    public void refused(Rejection why) {
        Span span = span().startSpan();
        SpanAttributes.refused(span, why);
        span.end();
    }

    /** The span of one call on its way in. */
    private record TracedArrival(Span span) implements Admission.Arrival {
        @Override
        public void admitted(Admission admission) {
            span.setAttribute(SpanAttributes.OUTCOME, "admitted");
            admission
                    .sequencer()
                    .ifPresent(mine ->
                            span.setAttribute(SpanAttributes.TOKEN, mine.token().value()));
            span.end();
        }

        @Override
        public void refused(Rejection why) {
            SpanAttributes.refused(span, why);
            span.end();
        }

        @Override
        public void left() {
            span.setAttribute(SpanAttributes.OUTCOME, "left");
            span.end();
        }
    }
}
