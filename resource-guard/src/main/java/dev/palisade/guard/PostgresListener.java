package dev.palisade.guard;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * A subscriber of one NOTIFY channel of PostgreSQL, on a thread and a connection of its own. A broken connection is made again; what
 * was announced meanwhile is lost. Safe for use by many threads.
 */
final class PostgresListener implements AutoCloseable {
    /** A connection on which nothing came for so long is tested. */
    private static final int SILENCE_MILLIS_MAX = 10_000;

    private static final int TEST_SECONDS_MAX = 5;
    private static final long RETRY_NANOS = 1_000_000_000;

    private final DataSource source;
    private final String channel;
    private final Consumer<String> listener;
    private final Thread thread;
    private volatile boolean closed;
    private volatile @Nullable Connection connection;

    /** @param listener of the payloads, on the subscriber's thread; must not block */
    PostgresListener(DataSource source, String channel, Consumer<String> listener) {
        this.source = source;
        this.channel = channel;
        this.listener = listener;
        thread = new Thread(this::run, "palisade-register-listener");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        while (!closed) {
            try (Connection made = source.getConnection()) {
                connection = made;
                made.setAutoCommit(true);
                try (Statement listen = made.createStatement()) {
                    listen.execute("LISTEN \"" + channel + "\"");
                }
                receive(made);
            } catch (SQLException | RuntimeException e) {
                // The poll goes on meanwhile.
            }
            connection = null;
            if (!closed) {
                LockSupport.parkNanos(RETRY_NANOS);
            }
        }
    }

    private void receive(Connection made) throws SQLException {
        PGConnection driver = made.unwrap(PGConnection.class);
        while (!closed) {
            PGNotification[] received = driver.getNotifications(SILENCE_MILLIS_MAX);
            if (received == null || received.length == 0) {
                if (!made.isValid(TEST_SECONDS_MAX)) {
                    return;
                }
                continue;
            }
            for (PGNotification each : received) {
                listener.accept(each.getParameter());
            }
        }
    }

    /** Ends the connection, whatever it waits for. */
    @Override
    public void close() {
        closed = true;
        Connection open = connection;
        if (open != null) {
            try {
                open.abort(Runnable::run);
            } catch (SQLException e) {
                // Then the thread ends when its read does.
            }
        }
        LockSupport.unpark(thread);
    }
}
