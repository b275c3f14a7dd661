package dev.palisade.bench;

import dev.palisade.scenario.ScenarioFailed;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;

/** PostgreSQL's advisory locks: no token, no lease, and a connection for each holder and each waiter. It has no asynchronous calls. */
final class PostgresLocks implements Locks {
    private final String url;
    private final Queue<Session> idle = new ConcurrentLinkedQueue<>();

    /** A connection and the two statements that all of its callers use. */
    private record Session(Connection connection, PreparedStatement take, PreparedStatement giveBack) {
        static Session open(String url) throws SQLException {
            Connection connection = DriverManager.getConnection(url);
            return new Session(
                    connection,
                    connection.prepareStatement("SELECT pg_advisory_lock(hashtextextended(?, 0))"),
                    connection.prepareStatement("SELECT pg_advisory_unlock(hashtextextended(?, 0))"));
        }
    }

    PostgresLocks(String url) {
        this.url = url;
        try {
            idle.add(Session.open(url)); // Or one that cannot be reached would be told by every caller.
        } catch (SQLException e) {
            throw new ScenarioFailed("PostgreSQL cannot be used: " + e.getMessage());
        }
    }

    @Override
    public Hold acquire(String name) throws SQLException {
        Session known = idle.poll();
        Session session = known == null ? Session.open(url) : known;
        session.take().setString(1, name);
        session.take().executeQuery().close();
        return new Held(name, session);
    }

    @Override
    public CompletionStage<Hold> acquireAsync(String name) {
        throw new UnsupportedOperationException("JDBC has no asynchronous calls");
    }

    @Override
    public void close() {
        for (Session session = idle.poll(); session != null; session = idle.poll()) {
            try {
                session.connection().close();
            } catch (SQLException e) {
                // It is not needed any more.
            }
        }
    }

    private final class Held implements Hold {
        private final String name;
        private final Session session;

        Held(String name, Session session) {
            this.name = name;
            this.session = session;
        }

        @Override
        public void release() throws SQLException {
            session.giveBack().setString(1, name);
            try (ResultSet result = session.giveBack().executeQuery()) {
                if (!result.next() || !result.getBoolean(1)) {
                    throw new ScenarioFailed("the lock " + name + " was not held when it was released");
                }
            }
            idle.add(session);
        }

        @Override
        public CompletionStage<?> releaseAsync() {
            throw new UnsupportedOperationException("JDBC has no asynchronous calls");
        }
    }
}
