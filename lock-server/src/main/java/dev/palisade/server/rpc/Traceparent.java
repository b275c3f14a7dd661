package dev.palisade.server.rpc;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;

/** Interceptor that keeps the header {@code traceparent} of W3C Trace Context for the acquire of a unary call. */
final class Traceparent implements ServerInterceptor {
    private static final Metadata.Key<String> HEADER = Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);
    private static final Context.Key<String> KEY = Context.keyWithDefault("palisade-traceparent", "");

    /** Of the current call, possibly malformed; empty: none. */
    static String current() {
        return KEY.get();
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        String traceparent = headers.get(HEADER);
        if (traceparent == null) {
            return next.startCall(call, headers);
        }
        return Contexts.interceptCall(Context.current().withValue(KEY, traceparent), call, headers, next);
    }
}
