package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** Dialect of H2. Stateless. */
final class H2Dialect extends SqlDialect {
    /** H2's own level beside the four of JDBC. */
    private static final int SNAPSHOT = 6;

    /**
     * H2 2.4 has no FOR SHARE. Under SERIALIZABLE (for H2: one snapshot of all tables, taken by the check itself) a plain
     * read is as good: the snapshot holds the raised s_token, so no older writer can commit after it, and a newer
     * writer changes nothing the snapshot shows. Under any other isolation the reader locks the row as a writer does.
     */
    @Override
    String shareLock(int isolation) {
        return isolation == Connection.TRANSACTION_SERIALIZABLE || isolation == SNAPSHOT ? "" : " FOR UPDATE";
    }

    @Override
    int isolation(Mode mode) {
        return mode == Mode.SHARED ? Connection.TRANSACTION_SERIALIZABLE : Connection.TRANSACTION_READ_COMMITTED;
    }

    /** A duplicate ends the statement only, not the transaction. */
    @Override
    String insertUnlessPresent(String table, String columnsAndValues) {
        return "INSERT INTO " + table + " " + columnsAndValues;
    }

    /** The transaction's: H2 has no other. Before a call waits for its row, not after. */
    @Override
    String nowMillis() {
        return "CAST(FLOOR(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP) * 1000) AS BIGINT)";
    }

    /** The session's, so it is given back by {@link #restoreLockWait}; neither commits a transaction. */
    @Override
    String boundLockWait(Connection connection, Duration wait) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet before = statement.executeQuery("CALL LOCK_TIMEOUT()")) {
            before.next();
            String value = before.getString(1);
            statement.execute("SET LOCK_TIMEOUT " + wait.toMillis());
            return value;
        }
    }

    @Override
    void restoreLockWait(Connection connection, String before) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET LOCK_TIMEOUT " + Long.parseLong(before));
        }
    }
}
