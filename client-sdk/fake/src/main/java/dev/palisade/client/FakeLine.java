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

/** The line between one client and the fake's server: up, cut so that both sides notice, or dead so that neither does. */
final class FakeLine implements ClientInterceptor {
    enum State {
        UP,
        CUT,
        SILENT
    }

    private final Set<Line<?, ?>> calls = ConcurrentHashMap.newKeySet();
    private volatile State state = State.UP;

    /** Calls of before do not live on: messages of theirs may be missing. */
    void turn(State next) {
        State before = state;
        state = next;
        if (next == State.CUT || before == State.SILENT) {
            List.copyOf(calls).forEach(Line::breakOff);
        }
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        return new Line<>(next.newCall(method, options));
    }

    private final class Line<Q, A> extends SimpleForwardingClientCall<Q, A> {
        private ClientCall.@Nullable Listener<A> caller;
        private boolean started;

        Line(ClientCall<Q, A> call) {
            super(call);
        }

        @Override
        public void start(Listener<A> listener, Metadata headers) {
            caller = listener;
            calls.add(this);
            switch (state) {
                case UP -> {
                    started = true;
                    super.start(new Heard(listener), headers);
                }
                case CUT -> breakOff();
                case SILENT -> {
                    // Nobody ever answers.
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

        private boolean through() {
            return started && state != State.SILENT;
        }

        @Override
        public void sendMessage(Q message) {
            if (through()) {
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
            if (through()) {
                super.halfClose();
            }
        }

        @Override
        public void cancel(@Nullable String message, @Nullable Throwable cause) {
            if (through()) {
                super.cancel(message, cause);
            }
        }

        @Override
        public boolean isReady() {
            return !started || super.isReady();
        }

        private final class Heard extends SimpleForwardingClientCallListener<A> {
            Heard(Listener<A> listener) {
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
                if (state != State.SILENT && calls.remove(Line.this)) {
                    super.onClose(status, trailers);
                }
            }
        }
    }
}
