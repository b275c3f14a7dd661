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
 * The handler of a call that was let in: starts it, tells it what happens, each in a turn and in the call's context, and
 * sees to it that the admission lasts as long as the handler is at work. In turns only, but for {@link #stop}.
 *
 * <p>A handler that throws has its call closed, as gRPC does; whether it had handed work to another thread cannot be told,
 * so the guard has lost sight of it, unless it closes the call after all.
 */
final class Handling<Q, R> {
    private static final System.Logger LOG = System.getLogger(Handling.class.getName());

    private final SynchronizationContext turns;
    private final Stay stay;
    private final HandlerCall<Q, R> call;
    private final Context.CancellableContext context;
    private ServerCall.Listener<Q> listener = new ServerCall.Listener<>() {};
    private boolean halfClosed;
    private boolean over;

    @Nullable
    private Q first;

    /**
     * @param first what was read to learn the lock's name; the handler gets it when it asks for a message
     * @param ahead messages that were asked for already, {@code first} among them
     */
    Handling(
            ServerCall<Q, R> call,
            Admission admission,
            Context context,
            SynchronizationContext turns,
            Q first,
            int ahead) {
        this.turns = turns;
        this.stay = new Stay(admission);
        this.call = new HandlerCall<>(call, stay, ahead, () -> turns.executeLater(this::giveFirst), turns::drain);
        this.context = context.withValue(GuardInterceptor.ADMISSION, admission).withCancellation();
        this.first = first;
    }

    void start(ServerCallHandler<Q, R> handler, Metadata headers) {
        run(() -> listener = handler.startCall(call, headers), false);
    }

    /** Whether the handler has been given the first message. */
    boolean hasFirst() {
        return first == null;
    }

    void message(Q message) {
        run(() -> listener.onMessage(message), false);
    }

    void halfClose() {
        halfClosed = true;
        if (first == null) {
            run(() -> listener.onHalfClose(), false);
        }
    }

    void ready() {
        run(() -> listener.onReady(), false);
    }

    void complete() {
        if (!call.isClosedByHandler()) {
            cancel(); // Stopped here, or closed by gRPC, which could not decode a message.
        } else if (!over) {
            over = true;
            run(() -> listener.onComplete(), true);
            context.cancel(null);
        }
    }

    /** The last thing that the handler is told; if it has not closed its call by then, its end is not seen. */
    void cancel() {
        var unused = lost();
    }

    /** Completes when what the caller does next cannot run beside a handler whose end is not seen. */
    private CompletionStage<Void> lost() {
        if (over) {
            return CompletableFuture.completedStage(null);
        }
        over = true;
        run(() -> listener.onCancel(), true);
        context.cancel(null);
        return stay.unwatched();
    }

    /**
     * Closes the call for the handler, at once even while the handler is busy, and then tells it that the call was cancelled.
     * From any thread.
     */
    void stop(Status status, Metadata trailers) {
        if (call.stop()) {
            call.end(status, trailers);
            context.cancel(status.asRuntimeException());
            turns.execute(this::cancel);
        }
    }

    /** The handler threw. The caller hears of it when the guard keeps out what must not run beside the rest of it. */
    private void failed(Throwable failure) {
        Status status = Status.UNKNOWN
                .withDescription("Application error processing RPC")
                .withCause(failure);
        Metadata trailers = Status.trailersFromThrowable(failure);
        if (call.stop()) {
            context.cancel(status.asRuntimeException());
            turns.execute(() -> {
                var unused = lost().thenRun(() -> call.end(status, trailers == null ? new Metadata() : trailers));
            });
        }
    }

    private void giveFirst() {
        Q message = first;
        first = null;
        if (message != null) {
            message(message);
        }
        if (halfClosed) {
            halfClose();
        }
    }

    /** @param last told in any case; the rest only to a handler whose call is open */
    private void run(Runnable handlersCode, boolean last) {
        if (!last && (over || call.isStopped())) {
            return;
        }
        boolean guarded = stay.begin();
        if (!guarded && !last) {
            return;
        }
        try {
            context.run(handlersCode);
        } catch (RuntimeException | Error e) {
            LOG.log(Level.ERROR, "the handler of " + call.getMethodDescriptor().getFullMethodName() + " threw", e);
            failed(e);
        } finally {
            if (guarded) {
                stay.returned();
            }
        }
    }
}
