package dev.palisade.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * TCP proxy with network faults: it freezes, delays, refuses or cuts connections. While a direction is frozen, the end
 * of a connection is not forwarded in it, as in a real network. It never changes or drops bytes of a connection that
 * continues. Safe for many threads.
 */
public final class Link implements AutoCloseable {
    /** Direction of the bytes. */
    public enum Way {
        /** To the target. */
        ONWARD,
        /** To the side that connected. */
        BACK
    }

    /** Whether the end of a connection is forwarded to the target. */
    public enum Deaths {
        TOLD,
        HIDDEN
    }

    private final ServerSocket listening;
    private final InetSocketAddress to;
    private final Deaths deaths;
    private final Queue<Connection> connections = new ConcurrentLinkedQueue<>();
    private volatile long delayNanos;
    private volatile boolean onwardFrozen;
    private volatile boolean backFrozen;
    private volatile boolean refusing;

    /** @param address HOST:PORT of the target */
    public Link(String address, Deaths deaths) {
        int colon = address.lastIndexOf(':');
        this.to = new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        this.deaths = deaths;
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Flow.start(this::accept);
    }

    public String address() {
        return "127.0.0.1:" + listening.getLocalPort();
    }

    /** Freezes existing connections towards the target, but not new ones. */
    void hold() {
        connections.forEach(connection -> connection.onward.hold(true));
    }

    /** Undoes {@link #hold}: delivers the held bytes in order. */
    void release() {
        connections.forEach(connection -> connection.onward.hold(false));
    }

    /** Freezes these directions, also of new connections. */
    public void freeze(Way... ways) {
        for (Way way : ways) {
            set(way, true);
        }
    }

    /** Undoes {@link #freeze}: delivers the held bytes in order. */
    public void thaw() {
        set(Way.ONWARD, false);
        set(Way.BACK, false);
    }

    /** Ends freezes and delays. */
    void heal() {
        delayNanos = 0;
        thaw();
    }

    /** Whether new connections are reset at once. */
    public void refuse(boolean refuse) {
        refusing = refuse;
    }

    private void set(Way way, boolean frozen) {
        if (way == Way.ONWARD) {
            onwardFrozen = frozen;
        } else {
            backFrozen = frozen;
        }
        connections.forEach(connection -> (way == Way.ONWARD ? connection.onward : connection.back).hold(frozen));
    }

    /** Number of received bytes that wait for delivery to the target. */
    public long heldBytes() {
        return connections.stream()
                .mapToLong(connection -> connection.onward.heldBytes())
                .sum();
    }

    /** Delays bytes from now on; zero for none. */
    public void delay(Duration delay) {
        delayNanos = delay.toNanos();
    }

    /** Breaks all connections with a reset, and drops what is held; new ones are accepted. */
    public void cut() {
        for (Connection next = connections.poll(); next != null; next = connections.poll()) {
            next.cut();
        }
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                pass(listening.accept());
            } catch (IOException e) {
                return; // Closed.
            }
        }
    }

    private void pass(Socket from) {
        Socket onward = new Socket();
        try {
            if (refusing) {
                throw new ConnectException("refused on request");
            }
            onward.connect(to);
            from.setTcpNoDelay(true);
            onward.setTcpNoDelay(true);
        } catch (IOException e) {
            Flow.resetOnClose(from); // The target is not reachable, or the client has gone.
            Flow.close(from);
            Flow.close(onward);
            return;
        }
        Connection connection = new Connection(from, onward);
        connections.add(connection);
        connection.begin();
    }

    /** One connection: two flows that end together, unless ends are hidden. */
    private final class Connection {
        private final Socket from;
        private final Socket to;
        private final Flow onward;
        private final Flow back;

        Connection(Socket from, Socket to) {
            this.from = from;
            this.to = to;
            this.onward = new Flow(from, to, () -> delayNanos, deaths == Deaths.TOLD ? this::end : () -> {});
            this.back = new Flow(to, from, () -> delayNanos, this::end);
        }

        /** Applies the current faults, after the connection is in the list, so that no change is missed. */
        void begin() {
            onward.hold(onwardFrozen);
            back.hold(backFrozen);
            onward.start();
            back.start();
        }

        void end() {
            onward.stop();
            back.stop();
            Flow.close(from);
            Flow.close(to);
            connections.remove(this);
        }

        void cut() {
            Flow.resetOnClose(from);
            Flow.resetOnClose(to);
            end();
        }
    }

    @Override
    public void close() {
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        cut();
    }
}
