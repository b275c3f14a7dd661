package dev.palisade.client;

import dev.palisade.contract.RejectedException;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The servers a client may talk to, tried in turn, and one channel to each. */
final class Channels {
    private static final int PORT_MAX = 65_535;
    private static final long FAREWELL_MILLIS = 200;

    private final List<ManagedChannel> channels;
    private final String addresses;
    private int next;

    private Channels(List<ManagedChannel> channels, String addresses) {
        this.channels = List.copyOf(channels);
        this.addresses = addresses;
    }

    /** @throws RejectedException MALFORMED_REQUEST when it is not {@code host:port[,host:port...]} */
    static void check(String addresses) {
        parts(addresses).forEach(Channels::checkOne);
    }

    /** @param addresses {@link #check checked} */
    static Channels open(String addresses, Function<String, ManagedChannel> factory) {
        List<ManagedChannel> opened = new ArrayList<>();
        parts(addresses).forEach(part -> opened.add(factory.apply(part.strip())));
        return new Channels(opened, addresses);
    }

    private static List<String> parts(String addresses) {
        return List.of(addresses.split(",", -1));
    }

    ManagedChannel next() {
        ManagedChannel channel = channels.get(next);
        next = (next + 1) % channels.size();
        return channel;
    }

    boolean several() {
        return channels.size() > 1;
    }

    /** In the order of the addresses; from any thread. */
    List<? extends Channel> all() {
        return channels;
    }

    /** Blocks for a moment, so that the servers hear of the end. */
    void close() {
        channels.forEach(ManagedChannel::shutdown);
        boolean interrupted = false;
        for (ManagedChannel channel : channels) {
            try {
                if (!interrupted) {
                    boolean ignored = channel.awaitTermination(FAREWELL_MILLIS, TimeUnit.MILLISECONDS);
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
            channel.shutdownNow();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return addresses;
    }

    private static void checkOne(String address) {
        String text = address.strip();
        int colon = text.lastIndexOf(':');
        int port = -1;
        try {
            port = Integer.parseInt(text.substring(colon + 1));
        } catch (NumberFormatException e) {
            // refused below
        }
        if (colon < 1 || port < 1 || port > PORT_MAX) {
            throw RejectedException.malformed("server address \"" + text + "\" is not host:port; write 127.0.0.1:7600,"
                    + " several separated by commas");
        }
    }
}
