package dev.palisade.opentelemetry;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** An extractor of the trace context from a gRPC call's headers. A header that is malformed or too long counts as absent. */
final class CallerContext implements ServerInterceptor {
    /** A traceparent has 55; W3C asks for at least 512 of tracestate. */
    private static final int HEADER_CHARS_MAX = 512;

    private final TextMapPropagator propagator;

    CallerContext(TextMapPropagator propagator) {
        this.propagator = propagator;
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        Context context = propagator.extract(Context.current(), headers, Headers.ALL);
        return new InContext<>(
                context,
                context.wrapSupplier(() -> next.startCall(call, headers)).get());
    }

    private enum Headers implements TextMapGetter<Metadata> {
        ALL;

        @Override
        @SuppressWarnings("deprecation") // Abstract in older versions of the API.
        public Iterable<String> keys(Metadata headers) {
            return headers.keys();
        }

        @Override
        public @Nullable String get(@Nullable Metadata headers, String key) {
            String name = key.toLowerCase(Locale.ROOT);
            if (headers == null || name.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
                return null;
            }
            String value = headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
            return value == null || value.length() > HEADER_CHARS_MAX ? null : value;
        }
    }

    /** A listener whose every callback runs in one context. */
    private static final class InContext<Q> extends ServerCall.Listener<Q> {
        private final Context context;
        private final ServerCall.Listener<Q> inner;

        private InContext(Context context, ServerCall.Listener<Q> inner) {
            this.context = context;
            this.inner = inner;
        }

        @Override
        public void onMessage(Q message) {
            context.wrap(() -> inner.onMessage(message)).run();
        }

        @Override
        public void onHalfClose() {
            context.wrap(inner::onHalfClose).run();
        }

        @Override
        public void onCancel() {
            context.wrap(inner::onCancel).run();
        }

        @Override
        public void onComplete() {
            context.wrap(inner::onComplete).run();
        }

        @Override
        public void onReady() {
            context.wrap(inner::onReady).run();
        }
    }
}
