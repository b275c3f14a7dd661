package dev.palisade.contract.grpc;

import com.google.protobuf.MessageLite;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import io.grpc.Context;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Byte budget of the unary replies that clients have not read yet, over all calls of one server. A reply beyond it is refused with
 * LIMIT_EXCEEDED; a reply that stays unread is reset, and its bytes are free again. Streams and small replies pass. Safe for use by
 * many threads.
 */
public final class ReplyBudget implements ServerInterceptor {
    /** How long a reply may stay unread, in milliseconds. */
    public static final long UNREAD_MAX_MILLIS = 10_000;

    /** Such small replies are bounded by the calls of a connection. */
    static final int SMALL_BYTES = 4 << 10;

    private final long bytesMax;
    private final Later later;
    private final Consumer<Rejection> refused;
    private final AtomicLong unread = new AtomicLong();

    /** Runs a task later, on some thread. */
    public interface Later {
        void after(long millis, Runnable task);
    }

    /**
     * @param bytesMax 1 or more
     * @param refused is notified of each refusal; must not block
     */
    public ReplyBudget(long bytesMax, Later later, Consumer<Rejection> refused) {
        this.bytesMax = bytesMax;
        this.later = later;
        this.refused = refused;
    }

    /** A share of this process's heap: what waits to be sent must leave room for the rest. At least 8 MiB. */
    public static long shareOfHeap() {
        return Math.max(8 << 20, Runtime.getRuntime().maxMemory() / 8);
    }

    /** Ends the stream of a call at once, with everything that its client has not read. A status would wait behind that. */
    public static void reset(Context call) {
        if (call instanceof Context.CancellableContext cancellable) {
            cancellable.cancel(new TimeoutException("the client does not read"));
        }
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        if (!call.getMethodDescriptor().getType().serverSendsOneMessage()) {
            return next.startCall(call, headers);
        }
        BudgetedCall<Q, R> budgeted = new BudgetedCall<>(call, Context.current());
        return new SimpleForwardingServerCallListener<>(next.startCall(budgeted, headers)) {
            @Override
            public void onComplete() {
                budgeted.ended();
                super.onComplete();
            }

            @Override
            public void onCancel() {
                budgeted.ended();
                super.onCancel();
            }
        };
    }

    private final class BudgetedCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
        private final Context context;
        private long bytes;
        private boolean ended;
        private boolean refusedReply;

        BudgetedCall(ServerCall<Q, R> call, Context context) {
            super(call);
            this.context = context;
        }

        @Override
        public void sendMessage(R message) {
            int size = message instanceof MessageLite encoded ? encoded.getSerializedSize() : 0;
            if (size <= SMALL_BYTES || take(size)) {
                super.sendMessage(message);
                return;
            }
            Rejection rejection = new Rejection(
                    Reason.LIMIT_EXCEEDED,
                    "replies of " + bytesMax + " bytes are sent and not read by their clients; try again later",
                    Map.of(Rejection.LIMIT, "unreadReplyBytesMax"));
            refused.accept(rejection);
            refusedReply = true;
            StatusRuntimeException failure = Rejections.toStatus(rejection);
            Metadata trailers = Status.trailersFromThrowable(failure);
            super.close(failure.getStatus(), trailers == null ? new Metadata() : trailers);
        }

        private synchronized boolean take(int size) {
            if (ended) {
                return true; // It goes nowhere.
            }
            if (unread.addAndGet(size) > bytesMax) {
                unread.addAndGet(-size);
                return false;
            }
            bytes = size;
            later.after(UNREAD_MAX_MILLIS, this::resetIfUnread);
            return true;
        }

        private void resetIfUnread() {
            boolean isUnread;
            synchronized (this) {
                isUnread = !ended;
            }
            if (isUnread) {
                reset(context);
            }
        }

        synchronized void ended() {
            ended = true;
            unread.addAndGet(-bytes);
            bytes = 0;
        }

        @Override
        public void close(Status status, Metadata trailers) {
            if (!refusedReply) {
                super.close(status, trailers);
            }
        }
    }
}
