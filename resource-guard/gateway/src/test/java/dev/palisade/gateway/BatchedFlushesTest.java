package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tasks of the loop run when a test says so; each flush that gets through is noted with the writes that were complete then. */
@NullUnmarked
class BatchedFlushesTest {
    private final EmbeddedChannel connection = new EmbeddedChannel();
    private final List<String> written = new ArrayList<>();
    private final List<String> completed = new ArrayList<>();
    /** Names of writes that had come before each flush, and those that were complete. */
    private final List<String> flushes = new ArrayList<>();

    @BeforeEach
    void batch() {
        connection.config().setWriteBufferWaterMark(new WriteBufferWaterMark(8 << 10, 16 << 10));
        BatchedFlushes.on(connection.pipeline());
        connection.pipeline().addFirst(new ChannelOutboundHandlerAdapter() {
            @Override
            public void flush(ChannelHandlerContext context) {
                flushes.add(written + " complete " + completed);
                context.flush();
            }
        });
    }

    @AfterEach
    void close() {
        connection.finishAndReleaseAll();
    }

    private ChannelFuture write(String name, int count) {
        ByteBuf bytes = Unpooled.wrappedBuffer(new byte[count]);
        // Not connection.write: an embedded channel runs its loop's tasks there.
        written.add(name);
        return connection.pipeline().write(bytes).addListener(done -> completed.add(name));
    }

    private void flush() {
        connection.pipeline().flush();
    }

    @Test
    void bodyThatFollowsTheHeadIsFlushedWithIt() {
        write("head", 200).addListener(done -> {
            var unused = write("body", 100);
            flush();
        });
        flush();
        assertThat(completed).as("within the write").isEmpty();
        connection.runPendingTasks();
        assertThat(flushes.get(0)).isEqualTo("[head, body] complete [head]");
        assertThat(connection.outboundMessages()).hasSize(2);
    }

    /** A sender waits for it, and so for the receiver. */
    @Test
    void largeWriteCompletesWhenItIsSent() {
        var unused = write("large", 5 << 10);
        flush();
        connection.runPendingTasks();
        assertThat(flushes).containsExactly("[large] complete []");
        assertThat(completed).containsExactly("large");
    }

    @Test
    void smallWriteBehindAFullBufferCompletesWhenItIsSent() {
        var unused = write("large", 20 << 10);
        var unusedToo = write("small", 100);
        flush();
        connection.runPendingTasks();
        assertThat(flushes).containsExactly("[large, small] complete []");
        assertThat(completed).containsExactly("large", "small");
    }

    @Test
    void writeToAClosedConnectionFails() {
        connection.close().syncUninterruptibly();
        ChannelFuture small = write("small", 100);
        connection.runPendingTasks();
        assertThat(small.isDone()).isTrue();
        assertThat(small.cause()).isNotNull();
    }
}
