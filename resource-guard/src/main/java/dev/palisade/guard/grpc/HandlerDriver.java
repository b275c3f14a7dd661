package dev.palisade.guard.grpc;

import dev.palisade.guard.Admission;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.grpc.SynchronizationContext;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Driver of the handler of an admitted call: starts the handler, delivers the events of the call, and keeps the
 * admission open while the handler works. Each event is delivered in the synchronization context and in the call's
 * {@link Context}. All methods but {@link #stop} run in the synchronization context only.
 *
 * <p>The call of a handler that throws is closed, as gRPC does. Whether the handler had handed work to another
 * thread is not known. So the outcome is unknown, unless the handler closes the call later.
 */
final class HandlerDriver<Q, R> {
    private static final System.Logger LOG = System.getLogger(HandlerDriver.class.getName());

    private final SynchronizationContext syncContext;
    private final AdmissionScope scope;
    private final HandlerCall<Q, R> call;
    private final Context.CancellableContext context;
    private ServerCall.Listener<Q> listener = new ServerCall.Listener<>() {};
    private boolean halfClosed;
    private boolean over;

    @Nullable
    private Q first;

    /**
     * @param first the message that was read for the name of the lock; the handler gets it with its first request
     * @param ahead messages that were requested already, {@code first} among them
     */
    HandlerDriver(
            ServerCall<Q, R> call,
            Admission admission,
            Context context,
            SynchronizationContext syncContext,
            Q first,
            int ahead) {
        this.syncContext = syncContext;
        this.scope = new AdmissionScope(admission);
        this.call = new HandlerCall<>(
                call, scope, ahead, () -> syncContext.executeLater(this::deliverFirst), syncContext::drain);
        this.context = context.withValue(GuardInterceptor.ADMISSION, admission).withCancellation();
        this.first = first;
    }

    void start(ServerCallHandler<Q, R> handler, Metadata headers) {
        runCallback(() -> listener = handler.startCall(call, headers), false);
    }

    /** Whether the first message has been delivered to the handler. */
    boolean hasFirst() {
        return first == null;
    }

    void message(Q message) {
        runCallback(() -> listener.onMessage(message), false);
    }

    void halfClose() {
        halfClosed = true;
        if (first == null) {
            runCallback(() -> listener.onHalfClose(), false);
        }
    }

    void ready() {
        runCallback(() -> listener.onReady(), false);
    }

    void complete() {
        if (!call.isClosedByHandler()) {
            cancel(); // Stopped here, or closed by gRPC, which could not decode a message.
        } else if (!over) {
            over = true;
            runCallback(() -> listener.onComplete(), true);
            context.cancel(null);
        }
    }

    /** Delivers the last callback. If the handler has not closed its call by then, the outcome is unknown. */
    void cancel() {
        var unused = deliverCancel();
    }

    /** Completes when the caller's next call cannot run beside a handler whose end is unknown. */
    private CompletionStage<Void> deliverCancel() {
        if (over) {
            return CompletableFuture.completedStage(null);
        }
        over = true;
        runCallback(() -> listener.onCancel(), true);
        context.cancel(null);
        return scope.callbacksEnded();
    }

    /**
     * Closes the call for the handler, at once even while the handler is busy, and then cancels the handler. From
     * any thread.
     */
    void stop(Status status, Metadata trailers) {
        if (call.stop()) {
            call.end(status, trailers);
            context.cancel(status.asRuntimeException());
            syncContext.execute(this::cancel);
        }
    }

    /**
     * The handler threw. The caller is notified when the guard blocks calls that conflict with the rest of the
     * handler's work.
     */
    private void failed(Throwable failure) {
        Status status = Status.UNKNOWN
                .withDescription("Application error processing RPC")
                .withCause(failure);
        Metadata trailers = Status.trailersFromThrowable(failure);
        if (call.stop()) {
            context.cancel(status.asRuntimeException());
            syncContext.execute(() -> {
                var unused =
                        deliverCancel().thenRun(() -> call.end(status, trailers == null ? new Metadata() : trailers));
            });
        }
    }

    private void deliverFirst() {
        Q message = first;
        first = null;
        if (message != null) {
            message(message);
        }
        if (halfClosed) {
            halfClose();
        }
    }

    /** @param last runs in any case; other callbacks run only while the call is open */
    private void runCallback(Runnable callback, boolean last) {
        if (!last && (over || call.isStopped())) {
            return;
        }
        boolean guarded = scope.enterCallback();
        if (!guarded && !last) {
            return;
        }
        try {
            context.run(callback);
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "the handler of " + call.getMethodDescriptor().getFullMethodName() + " threw", e);
            failed(e);
        } finally {
            if (guarded) {
                scope.exitCallback();
            }
        }
    }
}
