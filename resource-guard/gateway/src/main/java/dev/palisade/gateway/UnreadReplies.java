package dev.palisade.gateway;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bound on the messages that wait for clients to read them: acknowledgements of HTTP/2 PINGs and SETTINGS, resets of
 * streams, replies. The HTTP library has none, and a client could have them pile up until the memory is gone. Beyond
 * the bound the next bytes of a client close its connection. Safe for use by several threads.
 */
final class UnreadReplies {
    /** Of one connection: many times what 100 streams of a slow reader hold. */
    private static final int EACH_MAX = 10_000;

    /** Of all connections: some MiB. */
    private static final int ALL_MAX = 20_000;

    /** Of a connection that may stay while all together are too many. */
    private static final int FEW = 50;

    private final AtomicInteger all = new AtomicInteger();

    void on(ChannelPipeline pipeline) {
        pipeline.addFirst(new Counter());
    }

    /** Of one connection; on its event loop only. */
    private final class Counter extends ChannelDuplexHandler {
        private int unflushed;

        /** As it is in {@link #all}. */
        private int counted;

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
            unflushed++;
            super.write(context, message, promise);
        }

        @Override
        public void flush(ChannelHandlerContext context) throws Exception {
            unflushed = 0;
            super.flush(context);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
            ChannelOutboundBuffer unsent = context.channel().unsafe().outboundBuffer();
            int unread = unflushed + (unsent == null ? 0 : unsent.size());
            int together = count(unread);
            if (unread > EACH_MAX || (together > ALL_MAX && unread > FEW)) {
                ReferenceCountUtil.release(message);
                var unused = context.close();
            } else {
                super.channelRead(context, message);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) throws Exception {
            count(0);
            super.channelInactive(context);
        }

        private int count(int unread) {
            int change = unread - counted;
            counted = unread;
            return change == 0 ? all.get() : all.addAndGet(change);
        }
    }
}
