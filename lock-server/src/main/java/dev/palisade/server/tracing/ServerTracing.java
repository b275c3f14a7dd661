package dev.palisade.server.tracing;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.server.rpc.AcquireTracer;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A recorder of acquires as spans of OpenTelemetry. The span {@code palisade.acquire} of kind server lasts from the arrival of the acquire
 * to its result, and is a child of the span that the caller names. Thread-safe.
 */
public final class ServerTracing implements AcquireTracer {
    private static final AttributeKey<String> LOCK = AttributeKey.stringKey("palisade.lock");
    private static final AttributeKey<String> MODE = AttributeKey.stringKey("palisade.mode");
    private static final AttributeKey<Long> TOKEN = AttributeKey.longKey("palisade.token");
    private static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("palisade.outcome");
    private static final AttributeKey<String> REASON = AttributeKey.stringKey("palisade.reason");

    private final Tracer tracer;

    public ServerTracing(OpenTelemetry openTelemetry) {
        this.tracer = openTelemetry.getTracer("dev.palisade.server");
    }

    /** That of this process: of the Java agent of OpenTelemetry, or of an SDK on the class path. Empty where nothing records. */
    public static Optional<ServerTracing> ofProcess() {
        ServerTracing tracing = new ServerTracing(GlobalOpenTelemetry.get());
        // Without an SDK the API makes spans that have no id.
        boolean records = tracing.tracer
                .spanBuilder("palisade.start")
                .startSpan()
                .getSpanContext()
                .isValid();
        return records ? Optional.of(tracing) : Optional.empty();
    }

    @Override
    public Trace acquiring(LockName lock, Mode mode, Transport transport, String traceparent) {
        return new SpanTrace(tracer.spanBuilder("palisade.acquire")
                .setSpanKind(SpanKind.SERVER)
                .setParent(parent(transport, traceparent))
                .setAttribute(LOCK, lock.value())
                .setAttribute(MODE, mode.name())
                .startSpan());
    }

    /** That of the caller, else of an agent that traces unary calls by itself. */
    private static Context parent(Transport transport, String traceparent) {
        Context own = transport == Transport.UNARY ? Context.current() : Context.root();
        return traceparent.isEmpty() || traceparent.length() > TRACEPARENT_CHARS_MAX
                ? own
                : W3CTraceContextPropagator.getInstance().extract(own, traceparent, Single.TRACEPARENT);
    }

    /** A carrier that has the header {@code traceparent} only. */
    private enum Single implements TextMapGetter<String> {
        TRACEPARENT;

        @Override
        @SuppressWarnings("deprecation") // Abstract in older versions of the API.
        public Iterable<String> keys(String traceparent) {
            return List.of("traceparent");
        }

        @Override
        public @Nullable String get(@Nullable String traceparent, String key) {
            return key.equals("traceparent") ? traceparent : null;
        }
    }

    private static final class SpanTrace implements Trace {
        private final Span span;
        private final AtomicBoolean over = new AtomicBoolean();

        SpanTrace(Span span) {
            this.span = span;
        }

        @Override
        public void queued() {
            span.addEvent("queued");
        }

        @Override
        public void offered(FencingToken token) {
            span.addEvent("offered", Attributes.of(TOKEN, token.value()));
        }

        @Override
        public void granted(FencingToken token) {
            end("granted", () -> span.setAttribute(TOKEN, token.value()));
        }

        @Override
        public void refused(Rejection why) {
            end(
                    "refused",
                    () -> span.setAttribute(REASON, why.reason().name()).setStatus(StatusCode.ERROR, why.message()));
        }

        @Override
        public void ended(Ending ending) {
            end(ending.name().toLowerCase(Locale.ROOT), () -> {});
        }

        private void end(String outcome, Runnable attributes) {
            if (over.compareAndSet(false, true)) {
                span.setAttribute(OUTCOME, outcome);
                attributes.run();
                span.end();
            }
        }
    }
}
