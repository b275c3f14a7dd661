package dev.palisade.guard.redis;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * At-most-once command on a connection of which Lettuce may re-send what was written: by default it writes all commands without a
 * reply again when it reconnects. This one encodes itself once. Whenever it is written again, or after it was withdrawn, it
 * writes a PING in its place, so the order of replies on the connection stays right and nothing is applied.
 */
final class FenceCall extends AsyncCommand<byte[], byte[], List<Object>> {
    private static final byte[] PING = "*1\r\n$4\r\nPING\r\n".getBytes(StandardCharsets.US_ASCII);

    private enum Fate {
        NOT_WRITTEN,
        WRITTEN,
        WITHDRAWN
    }

    private final AtomicReference<Fate> fate;
    private volatile boolean replaced;

    FenceCall(ProtocolKeyword type, CommandArgs<byte[], byte[]> args) {
        this(type, args, new AtomicReference<>(Fate.NOT_WRITTEN));
    }

    private FenceCall(ProtocolKeyword type, CommandArgs<byte[], byte[]> args, AtomicReference<Fate> fate) {
        super(new Command<>(type, new Output(fate), args));
        this.fate = fate;
    }

    @Override
    public void encode(ByteBuf out) {
        if (fate.compareAndSet(Fate.NOT_WRITTEN, Fate.WRITTEN)) {
            super.encode(out);
        } else {
            replaced = true;
            out.writeBytes(PING);
        }
    }

    /** Whether a PING was written in its place, so that a reply may be that of the PING. */
    boolean wasReplaced() {
        return replaced;
    }

    /**
     * Gives it up.
     *
     * @return whether it was not written and never will be: not applied, for certain
     */
    boolean withdraw() {
        boolean unwritten = fate.compareAndSet(Fate.NOT_WRITTEN, Fate.WITHDRAWN);
        cancel(true);
        return unwritten;
    }

    private static final class Output extends NestedMultiOutput<byte[], byte[]> {
        private final AtomicReference<Fate> fate;

        Output(AtomicReference<Fate> fate) {
            super(ByteArrayCodec.INSTANCE);
            this.fate = fate;
        }

        /** A node of a cluster that sends the call elsewhere has not run it: there it is written for the first time. */
        @Override
        public void setError(ByteBuffer error) {
            super.setError(error);
            if (getError().startsWith("MOVED ") || getError().startsWith("ASK ")) {
                fate.compareAndSet(Fate.WRITTEN, Fate.NOT_WRITTEN);
            }
        }
    }
}
