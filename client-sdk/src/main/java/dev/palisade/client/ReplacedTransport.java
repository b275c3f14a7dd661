package dev.palisade.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusException;

/**
 * An interceptor that fails a call with UNAVAILABLE if it starts while {@link Connection} makes its channel idle. gRPC
 * itself throws an {@link IllegalStateException} then ("Resolution is pending").
 */
final class ReplacedTransport implements ClientInterceptor {
    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        return new CheckedForwardingClientCall<>(next.newCall(method, options)) {
            @Override
            protected void checkedStart(Listener<R> listener, Metadata headers) throws StatusException {
                try {
                    delegate().start(listener, headers);
                } catch (IllegalStateException e) {
                    throw Status.UNAVAILABLE
                            .withDescription("the connection is being replaced")
                            .withCause(e)
                            .asException();
                }
            }
        };
    }
}
