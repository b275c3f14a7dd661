package dev.palisade.cli.call;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Channels of one-shot calls, one for each server address, on one thread that ends with them. For one thread. */
final class Connections implements AutoCloseable {
    private static final int PORT_MAX = 65_535;
    private static final long CLOSE_MILLIS = 200;
    /** A server that stops during a long wait is detected after this time and the timeout. */
    private static final long PING_EVERY_SECONDS = 10;

    private final List<String> addresses;
    private final List<ManagedChannel> channels;
    private final EventLoopGroup group;
    private int preferred;

    private Connections(List<String> addresses, List<ManagedChannel> channels, EventLoopGroup group) {
        this.addresses = List.copyOf(addresses);
        this.channels = List.copyOf(channels);
        this.group = group;
    }

    // Netty 4.2 deprecates this group for a class that Netty 4.1, inside older grpc-netty-shaded, does not have.
    @SuppressWarnings("deprecation")
    static Connections to(String addresses, ChannelCredentials credentials, Duration timeout) throws Failed {
        List<String> parts = new ArrayList<>();
        for (String part : addresses.split(",", -1)) {
            parts.add(checked(part.strip()));
        }
        // NIO needs no native library, whose loading takes longer than a call.
        EventLoopGroup group = new NioEventLoopGroup(1, new DefaultThreadFactory("palisade-calls", true));
        long share = timeout.dividedBy(parts.size()).toMillis();
        List<ManagedChannel> channels = new ArrayList<>();
        for (String part : parts) {
            channels.add(NettyChannelBuilder.forTarget("dns:///" + part, credentials)
                    .eventLoopGroup(group)
                    .channelType(NioSocketChannel.class)
                    .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) Math.max(1, share))
                    .directExecutor()
                    .disableRetry()
                    .keepAliveTime(PING_EVERY_SECONDS, TimeUnit.SECONDS)
                    .keepAliveTimeout(Math.max(1, timeout.toMillis()), TimeUnit.MILLISECONDS)
                    .build());
        }
        return new Connections(parts, channels, group);
    }

    int count() {
        return channels.size();
    }

    /** The one that replied last, or that is next in turn. */
    Channel preferred() {
        return channels.get(preferred);
    }

    /** Whether {@code address} is one of these. */
    boolean has(String address) {
        return addresses.contains(address);
    }

    /** Of {@link #preferred}. */
    String address() {
        return addresses.get(preferred);
    }

    /** Goes on to the next address, and lets a later attempt at this one connect at once: gRPC's own backoff is a second. */
    void next() {
        channels.get(preferred).enterIdle();
        preferred = (preferred + 1) % channels.size();
    }

    @Override
    public void close() {
        channels.forEach(ManagedChannel::shutdownNow);
        try {
            for (ManagedChannel channel : channels) {
                boolean ignored = channel.awaitTermination(CLOSE_MILLIS, TimeUnit.MILLISECONDS);
            }
            boolean ignored = group.shutdownGracefully(0, CLOSE_MILLIS, TimeUnit.MILLISECONDS)
                    .await(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String checked(String address) throws Failed {
        int scheme = address.indexOf("://");
        if (scheme >= 0) {
            throw new Failed(
                    ExitCodes.USAGE,
                    "",
                    "server address \"" + address + "\" is not host:port; write it without "
                            + address.substring(0, scheme + 3));
        }
        int colon = address.lastIndexOf(':');
        int port = -1;
        try {
            port = Integer.parseInt(address.substring(colon + 1));
        } catch (NumberFormatException e) {
            // rejected below
        }
        if (colon < 1 || port < 1 || port > PORT_MAX) {
            throw new Failed(
                    ExitCodes.USAGE,
                    "",
                    "server address \"" + address
                            + "\" is not host:port; write 127.0.0.1:7600, several separated by commas");
        }
        return address;
    }
}
