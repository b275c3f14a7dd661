package dev.palisade.guard;

import dev.palisade.guard.FencedJdbc.Work;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/**
 * A transaction that {@link FencedJdbc} opened on a connection of its own. Closing one that was not committed rolls it back
 * and gives the connection back as it was found. Knows the one dangerous moment: a commit without an answer.
 */
final class OwnTransaction implements AutoCloseable {
    private final Connection connection;
    private final String resource;
    private final boolean autoCommitBefore;
    private final int isolationBefore;
    private boolean ended;

    private OwnTransaction(Connection connection, String resource, boolean autoCommitBefore, int isolationBefore) {
        this.connection = connection;
        this.resource = resource;
        this.autoCommitBefore = autoCommitBefore;
        this.isolationBefore = isolationBefore;
    }

    /** @throws IllegalStateException when Spring manages a transaction on this thread, or would share the connection */
    static OwnTransaction begin(
            DataSource dataSource, SpringTransactions spring, SqlDialect dialect, int isolation, String resource)
            throws SQLException {
        spring.requireNone(resource);
        Connection connection = dataSource.getConnection();
        try {
            SpringTransactions.requireUnshared(connection);
            OwnTransaction transaction = new OwnTransaction(
                    connection, resource, connection.getAutoCommit(), connection.getTransactionIsolation());
            connection.setAutoCommit(false);
            dialect.endEarlierTransaction(connection);
            if (transaction.isolationBefore != isolation) {
                connection.setTransactionIsolation(isolation);
            }
            return transaction;
        } catch (SQLException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    Connection connection() {
        return connection;
    }

    /** @throws IllegalStateException when {@code work} made no statement on the connection it was given */
    <T> T run(Work<T> work) throws SQLException {
        GuardedConnection guarded = new GuardedConnection(connection);
        T result = work.run(guarded.proxy());
        if (!guarded.wasUsed()) {
            throw new IllegalStateException("the work on '" + resource
                    + "' never used its connection; the guard committed nothing, but statements that ran elsewhere (a"
                    + " JdbcTemplate, an ORM session) were not guarded: run them on that connection, or call"
                    + " FencedJdbc.check in their transaction");
        }
        return result;
    }

    void rollback() throws SQLException {
        connection.rollback();
    }

    /**
     * @throws SQLException of {@link SqlFailure#ROLLED_BACK} or {@link SqlFailure#CONSTRAINT} kind: not applied
     * @throws dev.palisade.contract.RejectedException OUTCOME_UNKNOWN for every other failure
     */
    void commit() throws SQLException {
        try {
            connection.commit();
            ended = true;
        } catch (SQLException e) {
            if (SqlFailure.commitWasRefused(e)) {
                throw e;
            }
            throw FenceRejections.commitUnknown(resource, e);
        }
    }

    /** Never throws: after a commit its answer counts, and before one a lost connection is a rollback too. */
    @Override
    public void close() {
        try (connection) {
            if (!ended) {
                connection.rollback();
            }
            if (connection.getTransactionIsolation() != isolationBefore) {
                connection.setTransactionIsolation(isolationBefore);
            }
            connection.setAutoCommit(autoCommitBefore);
        } catch (SQLException e) {
            // Nothing left to do: a pool drops a connection that fails like this.
        }
    }
}
