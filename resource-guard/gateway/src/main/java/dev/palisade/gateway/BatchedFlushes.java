package dev.palisade.gateway;

import com.linecorp.armeria.client.ConnectionPoolListenerAdapter;
import com.linecorp.armeria.common.SessionProtocol;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.util.AttributeMap;
import java.net.InetSocketAddress;

/**
 * Handler of connections that sends what is written within one round of their event loop by one call of the system. The
 * HTTP library flushes the head of a message, and then its body: two calls here, and two at the receiver.
 */
final class BatchedFlushes extends ConnectionPoolListenerAdapter {
    private static final int EARLY_BYTES_MAX = 4 << 10;

    static void on(ChannelPipeline pipeline) {
        pipeline.addFirst(
                new FlushConsolidationHandler(FlushConsolidationHandler.DEFAULT_EXPLICIT_FLUSH_AFTER_FLUSHES, true),
                new EarlyCompletion());
    }

    /**
     * Handler that completes small writes before they are flushed. The HTTP library sends the body when the write of the head
     * is complete, which would be a flush later. Larger writes, and those behind them, complete when they are sent.
     */
    private static final class EarlyCompletion extends ChannelOutboundHandlerAdapter {
        @Override
        public void write(ChannelHandlerContext connection, Object message, ChannelPromise promise) {
            if (message instanceof ByteBuf bytes
                    && bytes.readableBytes() <= EARLY_BYTES_MAX
                    && connection.channel().isWritable()
                    && !promise.isVoid()) {
                ChannelFuture written = connection.write(message);
                // Later: the HTTP codec would send twice what it is sending if its caller wrote again before it
                // returns.
                connection.channel().eventLoop().execute(() -> complete(promise, written));
            } else {
                var unused = connection.write(message, promise);
            }
        }
    }

    private static void complete(ChannelPromise promise, ChannelFuture written) {
        Throwable failure = written.cause();
        if (failure == null) {
            promise.trySuccess();
        } else {
            promise.tryFailure(failure); // The connection is closed.
        }
    }

    /** The attributes of a connection to the service are those of its channel, which has no other way out. */
    @Override
    public void connectionOpen(
            SessionProtocol protocol, InetSocketAddress remote, InetSocketAddress local, AttributeMap attributes) {
        if (attributes instanceof Channel channel) {
            on(channel.pipeline());
        }
    }
}
