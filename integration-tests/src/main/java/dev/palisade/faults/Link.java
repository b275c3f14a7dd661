package dev.palisade.faults;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The middle of TCP connections: bytes pass, are held back, come late, or all connections are cut. Bytes that were taken from
 * one side are delivered even when that side has died since, and the other side is not told of the death: what a network may
 * do. Never changes or drops bytes of a connection that goes on. Safe for many threads.
 */
final class Link implements AutoCloseable {
    private static final int CHUNK_BYTES = 16 << 10;

    private final ServerSocket listening;
    private final InetSocketAddress to;
    private final Queue<Connection> connections = new ConcurrentLinkedQueue<>();
    private volatile long delayNanos;

    /** @param address HOST:PORT of the side that is connected to */
    Link(String address) {
        int colon = address.lastIndexOf(':');
        to = new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    String address() {
        return "127.0.0.1:" + listening.getLocalPort();
    }

    /** From now on nothing is delivered to the side that is connected to, on the connections that there are. */
    void hold() {
        connections.forEach(connection -> connection.hold(true));
    }

    /** Delivers what is held, in order, and whatever comes after it. */
    void release() {
        connections.forEach(connection -> connection.hold(false));
    }

    /** How many bytes were taken and wait to be delivered. */
    long heldBytes() {
        return connections.stream().mapToLong(Connection::heldBytes).sum();
    }

    /** Every chunk of bytes comes that much late from now on, 0: at once. */
    void delay(Duration delay) {
        delayNanos = delay.toNanos();
    }

    /** Breaks all connections, and drops what is held; new ones are accepted. */
    void cut() {
        for (Connection next = connections.poll(); next != null; next = connections.poll()) {
            next.close();
        }
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket from = listening.accept();
                Socket onward = new Socket();
                try {
                    onward.connect(to);
                } catch (IOException e) {
                    close(from);
                    continue;
                }
                from.setTcpNoDelay(true);
                onward.setTcpNoDelay(true);
                connections.add(new Connection(from, onward));
            } catch (IOException e) {
                return; // Closed.
            }
        }
    }

    /** One connection. What goes onward is taken by one thread and delivered by another. */
    private final class Connection {
        private final Socket from;
        private final Socket onward;
        private final Deque<byte[]> taken = new ArrayDeque<>();
        private boolean held;
        private boolean closed;

        Connection(Socket from, Socket onward) {
            this.from = from;
            this.onward = onward;
            start(this::take);
            start(this::deliver);
            start(this::answer);
        }

        synchronized void hold(boolean hold) {
            held = hold;
            notifyAll();
        }

        synchronized long heldBytes() {
            return held ? taken.stream().mapToLong(chunk -> chunk.length).sum() : 0;
        }

        void close() {
            synchronized (this) {
                closed = true;
                notifyAll();
            }
            Link.close(from);
            Link.close(onward);
        }

        /** Ends without a word to the side that is connected to. */
        private void take() {
            pump(from, chunk -> {
                synchronized (this) {
                    taken.add(chunk);
                    notifyAll();
                }
            });
        }

        private void deliver() {
            try {
                for (byte[] chunk = next(); chunk != null; chunk = next()) {
                    LockSupport.parkNanos(delayNanos);
                    onward.getOutputStream().write(chunk);
                }
            } catch (IOException e) {
                // Cut, or that side is gone, which the other direction tells.
            }
        }

        /** The next chunk, still counted as held until it may go; null at the end. */
        private synchronized byte @Nullable [] next() {
            try {
                while (!closed && (held || taken.isEmpty())) {
                    wait();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return null;
            }
            return closed ? null : taken.poll();
        }

        /** When the side that is connected to has ended, the other one hears of it. */
        private void answer() {
            pump(onward, chunk -> {
                LockSupport.parkNanos(delayNanos);
                from.getOutputStream().write(chunk);
            });
            close();
        }
    }

    private interface Sink {
        void take(byte[] chunk) throws IOException;
    }

    private static void pump(Socket source, Sink sink) {
        byte[] buffer = new byte[CHUNK_BYTES];
        try {
            InputStream in = source.getInputStream();
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                sink.take(Arrays.copyOf(buffer, length));
            }
        } catch (IOException e) {
            // Cut, or one side is gone.
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "link");
        thread.setDaemon(true);
        thread.start();
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // Closed all the same.
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
