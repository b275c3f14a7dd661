package dev.palisade.contract.grpc;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.InputStream;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Request decoder of a gRPC service: a message that is not valid protobuf ends its call with MALFORMED_REQUEST and ErrorInfo, and
 * the handler sees a cancelled call. gRPC's own decoder ends such a call with UNKNOWN, logs a stack trace for each, and never
 * tells the handler of a stream that it was cancelled. Put it outermost. Safe for use by many threads.
 */
public final class RequestDecoder {
    private RequestDecoder() {}

    /**
     * The same service, with every request decoded here.
     *
     * @param refused is notified of each refusal, on a thread of gRPC's; must not block
     */
    public static ServerServiceDefinition of(ServerServiceDefinition service, Consumer<Rejection> refused) {
        ServiceDescriptor before = service.getServiceDescriptor();
        ServiceDescriptor.Builder descriptor =
                ServiceDescriptor.newBuilder(before.getName()).setSchemaDescriptor(before.getSchemaDescriptor());
        var methods = service.getMethods().stream()
                .map(method -> decoded(method, refused))
                .toList();
        methods.forEach(method -> descriptor.addMethod(method.getMethodDescriptor()));
        ServerServiceDefinition.Builder after = ServerServiceDefinition.builder(descriptor.build());
        methods.forEach(after::addMethod);
        return after.build();
    }

    private static <Q, R> ServerMethodDefinition<Decoded<Q>, R> decoded(
            ServerMethodDefinition<Q, R> method, Consumer<Rejection> refused) {
        MethodDescriptor<Q, R> before = method.getMethodDescriptor();
        MethodDescriptor<Decoded<Q>, R> after = before.toBuilder(
                        new Decoding<>(before.getRequestMarshaller(), before.getFullMethodName()),
                        before.getResponseMarshaller())
                .build();
        ServerCallHandler<Q, R> handler = method.getServerCallHandler();
        return ServerMethodDefinition.create(after, (call, headers) -> {
            ClosableCall<Q, R> closable = new ClosableCall<>(call, before);
            return new DecodedListener<>(closable, handler.startCall(closable, headers), refused);
        });
    }

    /** A message, or why there is none. */
    private record Decoded<Q>(@Nullable Q message, @Nullable Rejection refusal) {}

    private record Decoding<Q>(Marshaller<Q> protobuf, String method) implements Marshaller<Decoded<Q>> {
        @Override
        public Decoded<Q> parse(InputStream bytes) {
            try {
                return new Decoded<>(protobuf.parse(bytes), null);
            } catch (RuntimeException e) {
                String why = String.valueOf((e.getCause() == null ? e : e.getCause()).getMessage());
                return new Decoded<>(
                        null,
                        RejectedException.malformed("a message of " + method + " is not valid protobuf (" + why
                                        + "); encode it as its .proto says")
                                .rejection());
            }
        }

        /** For clients only; the service never sends what it receives. */
        @Override
        public InputStream stream(Decoded<Q> request) {
            throw new UnsupportedOperationException("a decoded request is not sent");
        }
    }

    /** The call as its handler sees it. Closed here, at once, even while the handler sends on another thread. */
    private static final class ClosableCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
        private final MethodDescriptor<Q, R> method;
        private volatile boolean refused;

        @SuppressWarnings("unchecked") // A call hands no request out: those go to the listener.
        ClosableCall(ServerCall<Decoded<Q>, R> call, MethodDescriptor<Q, R> method) {
            super((ServerCall<Q, R>) (ServerCall<?, R>) call);
            this.method = method;
        }

        synchronized void refuse(Rejection rejection) {
            refused = true;
            StatusRuntimeException failure = Rejections.toStatus(rejection);
            Metadata trailers = Status.trailersFromThrowable(failure);
            delegate().close(failure.getStatus(), trailers == null ? new Metadata() : trailers);
        }

        @Override
        public MethodDescriptor<Q, R> getMethodDescriptor() {
            return method;
        }

        @Override
        public synchronized void request(int messages) {
            if (!refused) {
                delegate().request(messages);
            }
        }

        @Override
        public synchronized void sendHeaders(Metadata headers) {
            if (!refused) {
                delegate().sendHeaders(headers);
            }
        }

        @Override
        public synchronized void sendMessage(R message) {
            if (!refused) {
                delegate().sendMessage(message);
            }
        }

        @Override
        public synchronized void close(Status status, Metadata trailers) {
            if (!refused) {
                delegate().close(status, trailers);
            }
        }

        @Override
        public boolean isReady() {
            return !refused && delegate().isReady();
        }

        @Override
        public boolean isCancelled() {
            return refused || delegate().isCancelled();
        }
    }

    private static final class DecodedListener<Q, R> extends ServerCall.Listener<Decoded<Q>> {
        private final ClosableCall<Q, R> call;
        private final ServerCall.Listener<Q> handler;
        private final Consumer<Rejection> refused;

        DecodedListener(ClosableCall<Q, R> call, ServerCall.Listener<Q> handler, Consumer<Rejection> refused) {
            this.call = call;
            this.handler = handler;
            this.refused = refused;
        }

        @Override
        public void onMessage(Decoded<Q> decoded) {
            Q message = decoded.message();
            if (call.refused) {
                return;
            }
            if (message != null) {
                handler.onMessage(message);
            } else if (decoded.refusal() != null) {
                refused.accept(decoded.refusal());
                call.refuse(decoded.refusal());
                handler.onCancel();
            }
        }

        @Override
        public void onHalfClose() {
            if (!call.refused) {
                handler.onHalfClose();
            }
        }

        @Override
        public void onReady() {
            if (!call.refused) {
                handler.onReady();
            }
        }

        @Override
        public void onCancel() {
            if (!call.refused) {
                handler.onCancel();
            }
        }

        @Override
        public void onComplete() {
            if (!call.refused) {
                handler.onComplete();
            }
        }
    }
}
