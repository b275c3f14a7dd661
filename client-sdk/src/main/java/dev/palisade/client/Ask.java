package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/** An urgent errand whose meaning lives with whoever sends it: accept, resume, release, leave. */
final class Ask extends Errand {
    private final boolean lasting;
    private final Supplier<Call.Builder> call;
    private final BiConsumer<Reply, ClockReading> onAnswer;
    private final Runnable onAbandoned;

    private Ask(
            boolean lasting,
            Supplier<Call.Builder> call,
            BiConsumer<Reply, ClockReading> onAnswer,
            Runnable onAbandoned) {
        this.lasting = lasting;
        this.call = call;
        this.onAnswer = onAnswer;
        this.onAbandoned = onAbandoned;
    }

    /** Asked again on each new stream. */
    static Ask lasting(Supplier<Call.Builder> call, BiConsumer<Reply, ClockReading> onAnswer) {
        return lasting(call, onAnswer, () -> {});
    }

    /**
     * Asked again on each new stream.
     *
     * @param onAbandoned run when the client ends before the answer
     */
    static Ask lasting(Supplier<Call.Builder> call, BiConsumer<Reply, ClockReading> onAnswer, Runnable onAbandoned) {
        return new Ask(true, call, onAnswer, onAbandoned);
    }

    /** Pointless once the stream is gone. */
    static Ask onThisStream(Supplier<Call.Builder> call, BiConsumer<Reply, ClockReading> onAnswer) {
        return new Ask(false, call, onAnswer, () -> {});
    }

    @Override
    Call.Builder call(ClockReading now) {
        return call.get();
    }

    @Override
    void answered(Reply reply, ClockReading sent) {
        onAnswer.accept(reply, sent);
    }

    @Override
    void abandoned() {
        onAbandoned.run();
    }

    @Override
    boolean outlivesStream() {
        return lasting;
    }
}
