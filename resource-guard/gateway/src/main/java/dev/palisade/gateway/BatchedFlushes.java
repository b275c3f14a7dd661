package dev.palisade.gateway;

import com.linecorp.armeria.client.ConnectionPoolListenerAdapter;
import com.linecorp.armeria.common.SessionProtocol;
import io.netty.channel.Channel;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.netty.util.AttributeMap;
import java.net.InetSocketAddress;

/**
 * Handler of connections that sends what is written within one round of their event loop by one call of the system. The
 * HTTP library flushes the head of a message, and then its body: two calls here, and two at the receiver.
 */
final class BatchedFlushes extends ConnectionPoolListenerAdapter {
    static void on(ChannelPipeline pipeline) {
        pipeline.addFirst(
                new FlushConsolidationHandler(FlushConsolidationHandler.DEFAULT_EXPLICIT_FLUSH_AFTER_FLUSHES, true));
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
