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
 * A question somebody is blocked on, such as describe: repeated while a refusal may pass, and over at its deadline
 * whatever happens. It holds nothing at the server, so giving it up needs no word to it.
 */
final class Inquiry<T> extends Errand {
    private final Session session;
    private final Call call;
    private final BiFunction<Reply, ClockReading, T> read;
    private final Function<Rejection, RuntimeException> onUnavailable;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private final Retry retry = new Retry();

    @Nullable
    private Rejection lastRejection;

    private TimerQueue.@Nullable ScheduledTask deadline;

    /**
     * @param read in the loop; may throw {@link RejectedException} when the reply is not what was asked for
     * @param onUnavailable what is thrown when nobody answers
     */
    Inquiry(
            Session session,
            Call call,
            BiFunction<Reply, ClockReading, T> read,
            Function<Rejection, RuntimeException> onUnavailable) {
        this.session = session;
        this.call = call;
        this.read = read;
        this.onUnavailable = onUnavailable;
    }

    /** From any thread. */
    CompletableFuture<T> ask(long timeoutNanos) {
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

    /** Nobody waits any more, or nobody will answer. */
    void giveUp() {
        fail(onUnavailable.apply(lastRejection == null ? session.unreachable() : lastRejection));
    }

    @Override
    Call.Builder call(ClockReading now) {
        return call.toBuilder();
    }

    @Override
    void abandoned() {
        RuntimeException ended = session.ended();
        if (ended == null) {
            giveUp();
        } else {
            fail(ended);
        }
    }

    @Override
    boolean urgent() {
        return call.hasRenew();
    }

    @Override
    void answered(Reply reply, ClockReading sent) {
        if (reply.hasRejected()) {
            rejected(Wire.rejection(reply.getRejected()));
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
        switch (Remedy.of(rejection.reason())) {
            case RETRY, ASK_AGAIN -> session.again(this, retry.delayNanos(rejection));
            case THROW, LOST, TELL -> fail(rejection.asException());
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
