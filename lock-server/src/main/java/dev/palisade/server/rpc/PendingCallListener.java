package dev.palisade.server.rpc;

import io.grpc.ServerCall;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Listener of a call whose handler is not known yet. Keeps what happens to the call until then, which is little: no message comes before a
 * handler asks for one. Thread-safe.
 *
 * @param <Q> request
 */
final class PendingCallListener<Q> extends ServerCall.Listener<Q> {
    private final Queue<Consumer<ServerCall.Listener<Q>>> kept = new ArrayDeque<>();
    private ServerCall.@Nullable Listener<Q> handler;
    private boolean isPassing;

    /** Passes on what was kept, in order, and then everything at once. */
    void handler(ServerCall.Listener<Q> listener) {
        synchronized (this) {
            handler = listener;
        }
        while (true) {
            Consumer<ServerCall.Listener<Q>> next;
            synchronized (this) {
                next = kept.poll();
                if (next == null) {
                    isPassing = true;
                    return;
                }
            }
            next.accept(listener);
        }
    }

    private void pass(Consumer<ServerCall.Listener<Q>> happened) {
        ServerCall.Listener<Q> now;
        synchronized (this) {
            now = handler;
            if (now == null || !isPassing) {
                kept.add(happened);
                return;
            }
        }
        happened.accept(now);
    }

    @Override
    public void onMessage(Q message) {
        pass(listener -> listener.onMessage(message));
    }

    @Override
    public void onHalfClose() {
        pass(ServerCall.Listener::onHalfClose);
    }

    @Override
    public void onCancel() {
        pass(ServerCall.Listener::onCancel);
    }

    @Override
    public void onComplete() {
        pass(ServerCall.Listener::onComplete);
    }

    @Override
    public void onReady() {
        pass(ServerCall.Listener::onReady);
    }
}
