package dev.palisade.server.store.redis;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.RedisCommand;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One command to Redis, from its words to its end. Lettuce writes it and collects what comes back. It is written once, on one
 * {@link RedisConnection}: a command that surely did not run is repeated by another call. In the {@link Loop} only.
 */
final class Call implements RedisCommand<byte[], byte[], List<Object>> {
    private static final String BROKE = "the connection broke";
    private static final byte[] CRLF = {'\r', '\n'};

    private final byte[][] words;
    private final Listener listener;
    private CommandOutput<byte[], byte[], List<Object>> output = new NestedMultiOutput<>(ByteArrayCodec.INSTANCE);
    private @Nullable RedisConnection connection;
    private long sentNanos;
    private boolean ended;

    /** Hears once how a command ended, on the loop. */
    interface Listener {
        void answered(RedisConnection connection, List<Object> answer);

        /** Redis answered with an error. */
        void refused(RedisConnection connection, String error);

        /** It was written, or may have been, and no answer will come. */
        void unanswered(RedisConnection connection, String why);
    }

    Call(byte[][] words, Listener listener) {
        this.words = words;
        this.listener = listener;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    void sent(RedisConnection by, long nanos) {
        connection = by;
        sentNanos = nanos;
    }

    long sentNanos() {
        return sentNanos;
    }

    void unanswered(String why) {
        if (!ended) {
            ended = true;
            listener.unanswered(connection(), why);
        }
    }

    @Override
    public void complete() {
        if (ended) {
            return;
        }
        ended = true;
        connection().answered(this);
        String error = output.getError();
        if (error == null) {
            listener.answered(connection(), output.get());
        } else {
            listener.refused(connection(), error);
        }
    }

    /** Lettuce gives up what it cannot write or hear the answer of. */
    @Override
    public boolean completeExceptionally(Throwable failure) {
        connection().broken(BROKE);
        return true;
    }

    @Override
    public void cancel() {
        connection().broken(BROKE);
    }

    @Override
    public void encode(ByteBuf out) {
        length(out, '*', words.length);
        for (byte[] word : words) {
            length(out, '$', word.length);
            out.writeBytes(word).writeBytes(CRLF);
        }
    }

    private static void length(ByteBuf out, char kind, int length) {
        out.writeByte(kind);
        out.writeCharSequence(Integer.toString(length), StandardCharsets.US_ASCII);
        out.writeBytes(CRLF);
    }

    @Override
    public CommandOutput<byte[], byte[], List<Object>> getOutput() {
        return output;
    }

    @Override
    public void setOutput(CommandOutput<byte[], byte[], List<Object>> output) {
        this.output = output;
    }

    /** Lettuce looks at it for tracing only, which is off. */
    @Override
    @SuppressWarnings("NullAway")
    public @Nullable CommandArgs<byte[], byte[]> getArgs() {
        return null;
    }

    /** Only told apart by Lettuce where it changes the connection's own state, which no command of ours does. */
    @Override
    public ProtocolKeyword getType() {
        return CommandType.FCALL;
    }

    @Override
    public boolean isCancelled() {
        return false;
    }

    @Override
    public boolean isDone() {
        return ended;
    }

    private RedisConnection connection() {
        return Objects.requireNonNull(connection, "not sent");
    }
}
