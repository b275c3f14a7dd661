package dev.palisade.client;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A call with a deadline, whose result is a future: describe, and a renewal that a caller waits for. It is retried
 * after rejections that may pass. It leaves no state at the server, so nothing is sent when it ends early.
 */
final class DeadlineCall<T> extends PendingCall {
    private final Session session;
    private final Call call;
    private final BiFunction<Reply, ClockReading, T> read;
    private final Function<Rejection, RuntimeException> onUnavailable;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private final RetryDelay retryDelay = new RetryDelay();

    @Nullable
    private Rejection lastRejection;

    private TimerQueue.@Nullable ScheduledTask deadline;

    /**
     * @param read called in the loop; throws {@link RejectedException} if the reply is of another kind of call
     * @param onUnavailable makes the exception for a call that ends without a reply
     */
    DeadlineCall(
            Session session,
            Call call,
            BiFunction<Reply, ClockReading, T> read,
            Function<Rejection, RuntimeException> onUnavailable) {
        this.session = session;
        this.call = call;
        this.read = read;
        this.onUnavailable = onUnavailable;
    }

    /** Starts the call. For any thread. */
    CompletableFuture<T> start(long timeoutNanos) {
        session.loop().execute(() -> {
            RuntimeException ended = session.ended();
            if (ended != null) {
                result.completeExceptionally(ended);
                return;
            }
            deadline = session.loop().schedule(timeoutNanos, this::giveUp);
            session.start(this);
        });
        return result;
    }

    /** Ends the call without a reply: its caller was interrupted, the deadline passed, or the client is closed. */
    void giveUp() {
        fail(onUnavailable.apply(lastRejection == null ? session.unreachable() : lastRejection));
    }

    @Override
    Call.Builder call(ClockReading now) {
        return call.toBuilder();
    }

    @Override
    void onClientEnd() {
        RuntimeException ended = session.ended();
        if (ended == null) {
            giveUp();
        } else {
            fail(ended);
        }
    }

    @Override
    boolean isUrgent() {
        return call.hasRenew();
    }

    @Override
    void onReply(Reply reply, ClockReading sent) {
        if (reply.hasRejected()) {
            rejected(ProtoMapper.rejection(reply.getRejected()));
            return;
        }
        try {
            T value = read.apply(reply, sent);
            end();
            result.complete(value);
        } catch (RuntimeException e) {
            fail(e);
        }
    }

    private void rejected(Rejection rejection) {
        lastRejection = rejection;
        switch (RejectionAction.of(rejection.reason())) {
            case RETRY, RESEND -> session.retry(this, retryDelay.nextNanos(rejection));
            case THROW, LEASE_LOST, REPORT -> fail(rejection.asException());
        }
    }

    private void fail(RuntimeException failure) {
        end();
        result.completeExceptionally(failure);
    }

    private void end() {
        session.loop().cancel(deadline);
        session.finish(this);
    }
}
