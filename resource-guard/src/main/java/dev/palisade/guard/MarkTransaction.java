package dev.palisade.guard;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.util.concurrent.ForkJoinPool;
import javax.sql.DataSource;

/**
 * READ COMMITTED transaction on a connection of its own. Closing one that was not committed rolls it back. The
 * connection is returned with its former settings. Never distinguishes a failed commit from a rollback: the caller must
 * treat the outcome as unknown.
 */
final class MarkTransaction implements AutoCloseable {
    private final Connection connection;
    private final int networkTimeoutBefore;
    private final boolean autoCommitBefore;
    private final int isolationBefore;
    private boolean committed;

    private MarkTransaction(Connection connection, int seconds) throws SQLException {
        this.connection = connection;
        networkTimeoutBefore = boundNetwork(connection, seconds); // Drivers may ask the database for what follows.
        autoCommitBefore = connection.getAutoCommit();
        if (connection.getMetaData().getDatabaseProductName().equals("PostgreSQL")) {
            isolationBefore = Connection.TRANSACTION_READ_COMMITTED; // Or another: it is not changed.
            connection.setAutoCommit(false);
            boundTransaction(connection, seconds);
        } else {
            isolationBefore = connection.getTransactionIsolation();
            connection.setAutoCommit(false);
            if (isolationBefore != Connection.TRANSACTION_READ_COMMITTED) {
                connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            }
        }
    }

    /**
     * In the round trip that begins the transaction; PostgreSQL's driver would ask for the isolation level in one of its own. A
     * process that is stopped between two statements keeps its locks, and with them every other guard out. PostgreSQL then ends its
     * connection; the other databases have no such bound for one transaction.
     */
    private static void boundTransaction(Connection connection, int seconds) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
                    + " SET LOCAL idle_in_transaction_session_timeout = " + seconds * 1000L);
        }
    }

    static MarkTransaction begin(DataSource dataSource, int seconds) throws SQLException {
        Connection connection = dataSource.getConnection();
        try {
            return new MarkTransaction(connection, seconds);
        } catch (SQLException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    /** A second more than a statement may take: the statement's own end says more. */
    private static int boundNetwork(Connection connection, int seconds) throws SQLException {
        try {
            int before = connection.getNetworkTimeout();
            connection.setNetworkTimeout(ForkJoinPool.commonPool(), (seconds + 1) * 1000);
            return before;
        } catch (SQLFeatureNotSupportedException e) {
            return -1;
        }
    }

    Connection connection() {
        return connection;
    }

    void commit() throws SQLException {
        connection.commit();
        committed = true;
    }

    /** Never throws: what was committed counts, and a connection that is lost before is rolled back by the database. */
    @Override
    public void close() {
        try (connection) {
            if (!committed) {
                connection.rollback();
            }
            if (isolationBefore != Connection.TRANSACTION_READ_COMMITTED) {
                connection.setTransactionIsolation(isolationBefore);
            }
            connection.setAutoCommit(autoCommitBefore);
            if (networkTimeoutBefore >= 0) {
                connection.setNetworkTimeout(ForkJoinPool.commonPool(), networkTimeoutBefore);
            }
        } catch (SQLException e) {
            // Nothing left to do: a pool drops a connection that fails like this.
        }
    }
}
