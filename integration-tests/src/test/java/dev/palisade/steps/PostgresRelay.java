package dev.palisade.steps;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * A TCP relay between one guard and PostgreSQL that counts round trips by the frames of the protocol, and withholds one of
 * them on request: before the database gets it, or its reply. It changes no byte. Safe for many threads.
 */
final class PostgresRelay implements AutoCloseable {
    private static final int CANCEL_REQUEST = 80877102;

    private final ServerSocket listening;
    private final int database;
    private final Queue<Connection> connections = new ConcurrentLinkedQueue<>();
    private @Nullable Hold armed;

    PostgresRelay(int databasePort) {
        database = databasePort;
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    int port() {
        return listening.getLocalPort();
    }

    /**
     * Withholds the {@code number}th round trip from now.
     *
     * @param ofGuard only those of the guard's own transactions count; otherwise only those of its calls
     */
    synchronized Hold arm(int number, Side side, boolean ofGuard) {
        Hold hold = new Hold(number, side, ofGuard);
        armed = hold;
        return hold;
    }

    synchronized void disarm() {
        armed = null;
    }

    private synchronized @Nullable Hold count(Transaction transaction) {
        Hold hold = armed;
        if (hold == null
                || transaction.kind() == Transaction.Kind.NONE
                || (transaction.isKnown() && transaction.isOfGuard() != hold.isOfGuard())
                || !hold.countDown()) {
            return null;
        }
        armed = null;
        return hold;
    }

    /** Breaks all connections with a reset; what is withheld is lost. New ones are accepted. */
    void cut() {
        for (Connection next = connections.poll(); next != null; next = connections.poll()) {
            next.cut();
        }
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket guard = listening.accept();
                Connection connection = new Connection(guard, new Socket(InetAddress.getLoopbackAddress(), database));
                connections.add(connection);
                start(connection::onward);
                start(connection::back);
            } catch (IOException e) {
                // Closed; or a peer that has gone.
            }
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "postgres-relay");
        thread.setDaemon(true);
        thread.start();
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

    private final class Connection {
        private final Socket guard;
        private final Socket server;
        private final Transaction transaction = new Transaction();
        private volatile @Nullable Hold hold;

        Connection(Socket guard, Socket server) throws IOException {
            this.guard = guard;
            this.server = server;
            guard.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
        }

        void cut() {
            try {
                guard.setSoLinger(true, 0);
                server.setSoLinger(true, 0);
            } catch (IOException e) {
                // Closed already.
            }
            end();
        }

        /** What is withheld is released when it cannot be delivered any more. */
        private void end() {
            try (guard;
                    server) {
                connections.remove(this);
            } catch (IOException e) {
                // Closed all the same.
            }
            Hold held = hold;
            if (held != null) {
                held.release();
            }
        }

        void onward() {
            try (DataInputStream in = new DataInputStream(new BufferedInputStream(guard.getInputStream()))) {
                byte[] startup = frame(in, new ByteArrayOutputStream());
                server.getOutputStream().write(startup);
                boolean isCancel =
                        startup.length == 16 && ByteBuffer.wrap(startup).getInt(4) == CANCEL_REQUEST;
                ByteArrayOutputStream batch = new ByteArrayOutputStream();
                for (int type = in.read(); !isCancel && type >= 0; type = in.read()) {
                    batch.write(type);
                    transaction.saw((char) type, frame(in, batch));
                    // The driver sends BEGIN together with the first statement.
                    boolean ends = type == 'S' || (type == 'Q' && !transaction.justBegins());
                    if (ends) {
                        transaction.endBatch();
                        Hold held = count(transaction);
                        hold = held;
                        if (held != null && held.side() == Side.REQUEST) {
                            held.withhold(transaction.kind(), transaction.text(), () -> !server.isClosed());
                        }
                    }
                    if (ends || type == 'X') {
                        server.getOutputStream().write(batch.toByteArray());
                        batch.reset();
                    }
                }
                server.shutdownOutput();
            } catch (IOException e) {
                end();
            }
        }

        /** Without its type; {@code into} gets all of it. */
        private byte[] frame(DataInputStream in, ByteArrayOutputStream into) throws IOException {
            int length = in.readInt();
            byte[] whole = ByteBuffer.allocate(length).putInt(length).array();
            in.readFully(whole, 4, length - 4);
            into.writeBytes(whole);
            return whole;
        }

        void back() {
            try (InputStream in = server.getInputStream()) {
                byte[] buffer = new byte[16 << 10];
                for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                    Hold held = hold;
                    if (held != null && held.side() == Side.REPLY) {
                        held.withhold(transaction.kind(), transaction.text(), () -> !server.isClosed());
                        hold = null;
                    }
                    guard.getOutputStream().write(buffer, 0, length);
                }
            } catch (IOException e) {
                // Cut, or the other side is gone.
            }
            end();
        }
    }
}
