package dev.palisade.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * An interceptor that simulates the network link of one client: up, cut so that both ends notice, or silent so that
 * neither does.
 */
final class FakeLink implements ClientInterceptor {
    enum State {
        UP,
        CUT,
        SILENT
    }

    private final Set<LinkCall<?, ?>> calls = ConcurrentHashMap.newKeySet();
    private volatile State state = State.UP;

    /**
     * Changes the state. A cut ends all calls, and so does the end of a silence, because their messages may be lost.
     */
    void setState(State next) {
        State before = state;
        state = next;
        if (next == State.CUT || before == State.SILENT) {
            List.copyOf(calls).forEach(LinkCall::breakOff);
        }
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return new LinkCall<>(next.newCall(method, options));
    }

    private final class LinkCall<Q, A> extends SimpleForwardingClientCall<Q, A> {
        private ClientCall.@Nullable Listener<A> caller;
        private boolean started;

        LinkCall(ClientCall<Q, A> call) {
            super(call);
        }

        @Override
        public void start(Listener<A> listener, Metadata headers) {
            caller = listener;
            calls.add(this);
            switch (state) {
                case UP -> {
                    started = true;
                    super.start(new FilteringListener(listener), headers);
                }
                case CUT -> breakOff();
                case SILENT -> {
                    // The call never gets a reply.
                }
            }
        }

        void breakOff() {
            Listener<A> listener = caller;
            if (calls.remove(this) && listener != null) {
                if (started) {
                    super.cancel("the line is cut", null);
                }
                listener.onClose(Status.UNAVAILABLE.withDescription("the line is cut"), new Metadata());
            }
        }

        private boolean isForwarded() {
            return started && state != State.SILENT;
        }

        @Override
        public void sendMessage(Q message) {
            if (isForwarded()) {
                super.sendMessage(message);
            }
        }

        @Override
        public void request(int messages) {
            if (started) {
                super.request(messages);
            }
        }

        @Override
        public void halfClose() {
            if (isForwarded()) {
                super.halfClose();
            }
        }

        @Override
        public void cancel(@Nullable String message, @Nullable Throwable cause) {
            if (isForwarded()) {
                super.cancel(message, cause);
            }
        }

        @Override
        public boolean isReady() {
            return !started || super.isReady();
        }

        private final class FilteringListener extends SimpleForwardingClientCallListener<A> {
            FilteringListener(Listener<A> listener) {
                super(listener);
            }

            @Override
            public void onMessage(A message) {
                if (state != State.SILENT) {
                    super.onMessage(message);
                }
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                if (state != State.SILENT && calls.remove(LinkCall.this)) {
                    super.onClose(status, trailers);
                }
            }
        }
    }
}
