package dev.palisade.incidents;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What a careful user writes with JDBC: a row for each lock, taken by one statement if it has expired, with the rise of
 * its token in the same statement; release by the owner only; a timeout on every call. Replicas are asynchronous.
 */
final class NaivePostgresIssuer implements TokenIssuer {
    static final String TABLE = "app_lock";

    private static final String CREATE = "CREATE TABLE IF NOT EXISTS " + TABLE
            + " (name text PRIMARY KEY, owner text NOT NULL, expires timestamptz NOT NULL, token bigint NOT NULL)";
    private static final String ACQUIRE = "INSERT INTO " + TABLE + " AS held (name, owner, expires, token)"
            + " VALUES (?, ?, clock_timestamp() + interval '500 ms', 1)"
            + " ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, expires = EXCLUDED.expires, token = held.token + 1"
            + " WHERE held.expires < clock_timestamp() RETURNING token";
    private static final String RELEASE = "UPDATE " + TABLE + " SET expires = '-infinity' WHERE name = ? AND owner = ?";
    private static final String UNDEFINED_TABLE = "42P01";

    private final Addresses addresses;
    private final Map<Thread, Open> sessions = new ConcurrentHashMap<>();
    private volatile Node followed;

    /** A session of one thread. */
    private record Open(Node node, Connection connection) {}

    NaivePostgresIssuer(Topology<?> topology, Addresses addresses) {
        this.addresses = addresses;
        followed = topology.primary();
    }

    private Open open() throws SQLException {
        Open known = sessions.get(Thread.currentThread());
        Node node = followed;
        if (known != null && known.node() == node && !known.connection().isClosed()) {
            return known;
        }
        if (known != null) {
            known.connection().close();
        }
        Open opened = new Open(
                node,
                DriverManager.getConnection("jdbc:postgresql://" + addresses.of(node) + "/" + PostgresNode.DATABASE
                        + "?user=" + PostgresNode.USER + "&connectTimeout=1&socketTimeout=1&tcpKeepAlive=true"));
        sessions.put(Thread.currentThread(), opened);
        return opened;
    }

    @Override
    public AttemptOutcome acquire(String lock, String owner) {
        Open session;
        try {
            session = open();
        } catch (SQLException e) {
            return new AttemptOutcome.Refused(e.toString());
        }
        try (PreparedStatement acquire = session.connection().prepareStatement(ACQUIRE)) {
            acquire.setString(1, lock);
            acquire.setString(2, owner);
            try (ResultSet row = acquire.executeQuery()) {
                return row.next() ? new AttemptOutcome.Taken(row.getLong(1), session.node()) : AttemptOutcome.HELD;
            }
        } catch (SQLException e) {
            return failed(session, e);
        }
    }

    private static AttemptOutcome failed(Open session, SQLException e) {
        if (UNDEFINED_TABLE.equals(e.getSQLState())) {
            try (Statement create = session.connection().createStatement()) {
                create.execute(CREATE);
            } catch (SQLException other) {
                // Another application creates it, or the next try does.
            }
        }
        return isRefusal(session, e)
                ? new AttemptOutcome.Refused(e.toString())
                : new AttemptOutcome.Unknown(e.toString());
    }

    /** An error of PostgreSQL over a connection that goes on: the statement was rolled back. */
    private static boolean isRefusal(Open session, SQLException e) {
        String state = e.getSQLState();
        try {
            return state != null
                    && !state.startsWith("08")
                    && !state.startsWith("57P")
                    && !session.connection().isClosed();
        } catch (SQLException unknown) {
            return false;
        }
    }

    @Override
    public void release(String lock, String owner) {
        try (PreparedStatement release = open().connection().prepareStatement(RELEASE)) {
            release.setString(1, lock);
            release.setString(2, owner);
            release.executeUpdate();
        } catch (SQLException e) {
            // It ends with its time.
        }
    }

    @Override
    public void follow(Node primary) {
        followed = primary;
    }

    @Override
    public String counter(String lock) {
        return lock;
    }

    @Override
    public void close() {
        sessions.values().forEach(session -> close(session.connection()));
    }

    private static void close(@Nullable Connection connection) {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (SQLException e) {
            // It is of no use any more.
        }
    }
}
