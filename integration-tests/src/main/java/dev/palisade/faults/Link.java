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
 * The middle of TCP connections: bytes pass, stand still, come late, or all connections are cut. Nobody hears of a death on
 * the other side while the way from there stands still: what a network may do. Never changes or drops bytes of a connection
 * that goes on. Safe for many threads.
 */
public final class Link implements AutoCloseable {
    /** Which way bytes go. */
    public enum Way {
        /** To the side that is connected to. */
        ONWARD,
        /** Back to whoever connected. */
        BACK
    }

    /** Whether the side that is connected to hears when whoever connected has ended. */
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

    /** @param address HOST:PORT of the side that is connected to */
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

    /** From now on nothing is delivered onward on the connections that there are; new ones are well. */
    void hold() {
        connections.forEach(connection -> connection.onward.hold(true));
    }

    /** Delivers what is held, in order, and whatever comes after it. */
    void release() {
        connections.forEach(connection -> connection.onward.hold(false));
    }

    /** From now on nothing goes these ways, on new connections neither. */
    public void freeze(Way... ways) {
        for (Way way : ways) {
            set(way, true);
        }
    }

    /** Undoes {@link #freeze}: what stood still is delivered, in order. */
    public void thaw() {
        set(Way.ONWARD, false);
        set(Way.BACK, false);
    }

    /** Everything passes at once again; what stood still is delivered first. */
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

    /** How many bytes were taken to be sent onward and wait to be delivered. */
    public long heldBytes() {
        return connections.stream()
                .mapToLong(connection -> connection.onward.heldBytes())
                .sum();
    }

    /** Bytes come that much late from now on, 0: at once. */
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
            Flow.resetOnClose(from); // Nobody there, or gone again.
            Flow.close(from);
            Flow.close(onward);
            return;
        }
        Connection connection = new Connection(from, onward);
        connections.add(connection);
        connection.begin();
    }

    /** One connection: two flows that end together, except that a hidden death ends nothing. */
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

        /** What the link suffers at the moment holds for a new connection too: asked after it is in the list of them. */
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
