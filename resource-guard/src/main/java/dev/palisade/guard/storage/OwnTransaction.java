package dev.palisade.guard.storage;

import dev.palisade.contract.Reason;
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

    static OwnTransaction begin(DataSource dataSource, int isolation, String resource) throws SQLException {
        Connection connection = dataSource.getConnection();
        try {
            OwnTransaction transaction = new OwnTransaction(
                    connection, resource, connection.getAutoCommit(), connection.getTransactionIsolation());
            connection.setAutoCommit(false);
            if (transaction.isolationBefore != isolation) {
                connection.setTransactionIsolation(isolation);
            }
            return transaction;
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    Connection connection() {
        return connection;
    }

    <T> T run(Work<T> work) throws SQLException {
        return work.run(GuardedConnection.over(connection));
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
            throw FencedJdbc.rejection(
                    Reason.OUTCOME_UNKNOWN,
                    "the commit on '" + resource + "' got no answer (" + FencedJdbc.oneLine(e)
                            + "); it may or may not be applied: read again under the lock",
                    resource,
                    "unknown",
                    e);
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
