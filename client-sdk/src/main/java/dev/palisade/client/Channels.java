package dev.palisade.client;

import io.grpc.Channel;
import io.grpc.Deadline;
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
    private final List<String> servers;
    private int next;

    private Channels(List<ManagedChannel> channels, List<String> servers) {
        this.channels = List.copyOf(channels);
        this.servers = List.copyOf(servers);
    }

    /** @throws IllegalArgumentException when it is not {@code host:port} */
    static String checkedAddress(String address) {
        String text = address.strip();
        int colon = text.lastIndexOf(':');
        int port = -1;
        try {
            port = Integer.parseInt(text.substring(colon + 1));
        } catch (NumberFormatException e) {
            // refused below
        }
        if (colon < 1 || port < 1 || port > PORT_MAX || text.indexOf(',') >= 0) {
            throw new IllegalArgumentException("server address \"" + text
                    + "\" is not host:port; write 127.0.0.1:7600, each of several servers for itself");
        }
        return text;
    }

    /** @param servers one or more, each what {@code factory} makes a channel to */
    static Channels open(List<String> servers, Function<String, ManagedChannel> factory) {
        List<ManagedChannel> opened = new ArrayList<>();
        try {
            servers.forEach(server -> opened.add(factory.apply(server)));
        } catch (RuntimeException e) {
            opened.forEach(ManagedChannel::shutdownNow);
            throw e;
        }
        return new Channels(opened, servers);
    }

    ManagedChannel next() {
        ManagedChannel channel = channels.get(next);
        next = (next + 1) % channels.size();
        return channel;
    }

    /** The next attempt goes to {@code server}, if it is one of these: a client trusts no address that it was not given. */
    void prefer(String server) {
        int known = servers.indexOf(server);
        if (known >= 0) {
            next = known;
        }
    }

    int count() {
        return channels.size();
    }

    boolean several() {
        return channels.size() > 1;
    }

    /** In the order of the addresses; from any thread. */
    List<? extends Channel> all() {
        return channels;
    }

    /**
     * Blocks for a moment, so that the servers hear of the end, also when interrupted: the thread that the channels run on is ended
     * next. The flag is kept.
     */
    void close() {
        channels.forEach(ManagedChannel::shutdown);
        boolean interrupted = false;
        for (ManagedChannel channel : channels) {
            Deadline limit = Deadline.after(FAREWELL_MILLIS, TimeUnit.MILLISECONDS);
            boolean waited = false;
            while (!waited) {
                try {
                    boolean ignored =
                            channel.awaitTermination(limit.timeRemaining(TimeUnit.NANOSECONDS), TimeUnit.NANOSECONDS);
                    waited = true;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            channel.shutdownNow();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return String.join(",", servers);
    }
}
