package dev.palisade.client;

import io.grpc.Channel;
import io.grpc.Deadline;
import io.grpc.ManagedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A round-robin list of the servers of one client, with one channel to each. A single server has a second one, for checks. */
final class Channels {
    private static final int PORT_MAX = 65_535;
    private static final long SHUTDOWN_MILLIS = 200;

    private final List<Target> targets;
    private final List<ManagedChannel> channels;
    private final Optional<Target> probe;
    private int next;

    private Channels(List<Target> targets, Optional<Target> probe) {
        this.targets = List.copyOf(targets);
        this.channels = targets.stream().map(Target::channel).toList();
        this.probe = probe;
    }

    /** @throws IllegalArgumentException when it is not {@code host:port} */
    static String checkedAddress(String address) {
        String text = address.strip();
        int scheme = text.indexOf("://");
        if (scheme >= 0) {
            throw new IllegalArgumentException("server address \"" + text + "\" is not host:port; write it without "
                    + text.substring(0, scheme + 3));
        }
        int colon = text.lastIndexOf(':');
        int port = -1;
        try {
            port = Integer.parseInt(text.substring(colon + 1));
        } catch (NumberFormatException e) {
            // The port stays invalid.
        }
        if (colon < 1 || port < 1 || port > PORT_MAX || text.indexOf(',') >= 0) {
            throw new IllegalArgumentException("server address \"" + text
                    + "\" is not host:port; write 127.0.0.1:7600, each of several servers for itself");
        }
        return text;
    }

    /**
     * @param servers one or more, each what {@code factory} makes a channel to
     * @param probes whether a single server has a second channel
     */
    static Channels open(List<String> servers, Function<String, ManagedChannel> factory, boolean probes) {
        List<Target> opened = new ArrayList<>();
        try {
            servers.forEach(server -> opened.add(new Target(server, factory.apply(server))));
            Optional<String> single = probes && servers.size() == 1 ? Optional.of(servers.get(0)) : Optional.empty();
            return new Channels(opened, single.map(server -> new Target(server, factory.apply(server))));
        } catch (RuntimeException e) {
            opened.forEach(target -> target.channel().shutdownNow());
            throw e;
        }
    }

    /** A second channel to a single server, for checks only: behind a load balancer it may lead to another server. */
    Optional<Target> probe() {
        return probe;
    }

    /** The next server in turn without a pause; if each has one, the server whose pause ends first. */
    Target next(long nowNanos) {
        int chosen = next;
        for (int i = 0; i < targets.size(); i++) {
            int other = (next + i) % targets.size();
            if (targets.get(other).pauseNanos(nowNanos) < targets.get(chosen).pauseNanos(nowNanos)) {
                chosen = other;
            }
        }
        next = (chosen + 1) % targets.size();
        return targets.get(chosen);
    }

    /** Until the first pause of a server ends, nanoseconds; 0 if a server has none. */
    long pauseNanos(long nowNanos) {
        return targets.stream()
                .mapToLong(target -> target.pauseNanos(nowNanos))
                .min()
                .orElse(0);
    }

    /**
     * The next attempt goes to {@code server}, if it is one of these: a client trusts no address that it was not given.
     *
     * @param referrer the server that named it; a server that names itself is not preferred
     * @param referrerIsBusy whether the referrer requested a pause
     */
    void prefer(String server, Target referrer, boolean referrerIsBusy) {
        for (int i = 0; i < targets.size(); i++) {
            if (targets.get(i) != referrer && targets.get(i).address().equals(server)) {
                next = i;
                targets.get(i).referred(referrerIsBusy);
            }
        }
    }

    /** The next attempt goes to {@code target} again. */
    void stay(Target target) {
        next = targets.indexOf(target);
    }

    int count() {
        return channels.size();
    }

    List<Target> targets() {
        return targets;
    }

    boolean several() {
        return channels.size() > 1;
    }

    /** In the order of the addresses; from any thread. */
    List<? extends Channel> all() {
        return channels;
    }

    /**
     * Closes the channels. Blocks up to 200 ms for each, also when interrupted, because the thread of the channels
     * ends next, and the servers should see the end of the connections. The flag is kept.
     */
    void close() {
        List<ManagedChannel> ready =
                targets.stream().filter(Target::mayBeReady).map(Target::channel).toList();
        probe.ifPresent(target -> target.channel().shutdownNow());
        channels.forEach(ManagedChannel::shutdown);
        boolean interrupted = false;
        for (ManagedChannel channel : ready) {
            Deadline limit = Deadline.after(SHUTDOWN_MILLIS, TimeUnit.MILLISECONDS);
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
        }
        channels.forEach(ManagedChannel::shutdownNow); // gRPC keeps a channel that was replaced for some seconds.
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return targets.stream().map(Target::address).collect(Collectors.joining(","));
    }
}
