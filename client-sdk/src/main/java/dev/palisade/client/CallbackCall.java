package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/** An urgent call whose content and reply handler are functions of its sender: accept, resume, renew, release. */
final class CallbackCall extends PendingCall {
    private final boolean acrossStreams;
    private final Supplier<Call.Builder> call;
    private final BiConsumer<Reply, ClockReading> onReply;
    private final Runnable onClientEnd;

    private CallbackCall(
            boolean acrossStreams,
            Supplier<Call.Builder> call,
            BiConsumer<Reply, ClockReading> onReply,
            Runnable onClientEnd) {
        this.acrossStreams = acrossStreams;
        this.call = call;
        this.onReply = onReply;
        this.onClientEnd = onClientEnd;
    }

    /** A call that is sent again on each new stream. */
    static CallbackCall acrossStreams(Supplier<Call.Builder> call, BiConsumer<Reply, ClockReading> onReply) {
        return acrossStreams(call, onReply, () -> {});
    }

    /**
     * A call that is sent again on each new stream.
     *
     * @param onClientEnd runs when the client ends before the reply
     */
    static CallbackCall acrossStreams(
            Supplier<Call.Builder> call, BiConsumer<Reply, ClockReading> onReply, Runnable onClientEnd) {
        return new CallbackCall(true, call, onReply, onClientEnd);
    }

    /** A call that ends with the stream it is sent on. */
    static CallbackCall onThisStream(Supplier<Call.Builder> call, BiConsumer<Reply, ClockReading> onReply) {
        return new CallbackCall(false, call, onReply, () -> {});
    }

    @Override
    Call.Builder call(ClockReading now) {
        return call.get();
    }

    @Override
    void onReply(Reply reply, ClockReading sent) {
        onReply.accept(reply, sent);
    }

    @Override
    void onClientEnd() {
        onClientEnd.run();
    }

    @Override
    boolean outlivesStream() {
        return acrossStreams;
    }
}
