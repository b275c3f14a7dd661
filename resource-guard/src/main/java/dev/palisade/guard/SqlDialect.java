package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** What differs between the databases that {@link FencedJdbc} knows. Stateless. Never decides who is admitted. */
enum SqlDialect {
    H2 {
        /**
         * H2 2.4 has no FOR SHARE. Under SERIALIZABLE (for H2: one snapshot of all tables, taken by the check itself) a plain
         * read is as good: the snapshot holds the raised s_token, so no older writer can commit after it, and a newer
         * writer changes nothing the snapshot shows. Under any other isolation the reader locks the row as a writer does.
         */
        @Override
        String shareLock(int isolation) {
            return isolation == Connection.TRANSACTION_SERIALIZABLE || isolation == H2_SNAPSHOT ? "" : " FOR UPDATE";
        }

        @Override
        int isolation(Mode mode) {
            return mode == Mode.SHARED ? Connection.TRANSACTION_SERIALIZABLE : Connection.TRANSACTION_READ_COMMITTED;
        }

        /** A duplicate ends the statement only, not the transaction. */
        @Override
        String unlessPresent() {
            return "";
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
    },

    POSTGRESQL {
        @Override
        String shareLock(int isolation) {
            return " FOR SHARE";
        }

        @Override
        int isolation(Mode mode) {
            return Connection.TRANSACTION_READ_COMMITTED;
        }

        /** A duplicate would abort the transaction; under a snapshot that cannot see the row this still is 40001. */
        @Override
        String unlessPresent() {
            return " ON CONFLICT DO NOTHING";
        }

        /** When the statement arrived, before it waited for its row; a joined transaction may be much older. */
        @Override
        String nowMillis() {
            return "CAST(FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000) AS BIGINT)";
        }

        /**
         * The transaction's (SET LOCAL): a rollback takes it back by itself. A row shared by many is many waits, each with a
         * lock_timeout of its own, and new readers may join them; statement_timeout bounds their sum.
         */
        @Override
        String boundLockWait(Connection connection, Duration wait) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement("SELECT current_setting('lock_timeout'),"
                    + " current_setting('statement_timeout'), set_config('lock_timeout', ?, true),"
                    + " set_config('statement_timeout', ?, true)")) {
                statement.setString(1, wait.toMillis() + "ms");
                statement.setString(2, wait.toMillis() + "ms");
                try (ResultSet before = statement.executeQuery()) {
                    before.next();
                    return before.getString(1) + " " + before.getString(2);
                }
            }
        }

        @Override
        void restoreLockWait(Connection connection, String before) throws SQLException {
            int space = before.indexOf(' ');
            try (PreparedStatement statement = connection.prepareStatement(
                    "SELECT set_config('lock_timeout', ?, true), set_config('statement_timeout', ?, true)")) {
                statement.setString(1, before.substring(0, space));
                statement.setString(2, before.substring(space + 1));
                statement.execute();
            }
        }
    };

    /** H2's own level beside the four of JDBC. */
    private static final int H2_SNAPSHOT = 6;

    /** The lock clause of a SHARED reader's SELECT at {@code isolation}. */
    abstract String shareLock(int isolation);

    /** The isolation of a transaction that {@link FencedJdbc} opens itself. */
    abstract int isolation(Mode mode);

    /** The end of an INSERT that, when the row is there, changes nothing or fails with 23505 and leaves the transaction usable. */
    abstract String unlessPresent();

    /** The present by the database's clock, as an expression: milliseconds since 1970. */
    abstract String nowMillis();

    /** Bounds waits for row locks from here on; returns what {@link #restoreLockWait} wants back. */
    abstract String boundLockWait(Connection connection, Duration wait) throws SQLException;

    abstract void restoreLockWait(Connection connection, String before) throws SQLException;

    /** @throws SQLException in one line, for a database nobody taught us */
    static SqlDialect of(Connection connection) throws SQLException {
        String product = connection.getMetaData().getDatabaseProductName();
        return switch (product) {
            case "H2" -> H2;
            case "PostgreSQL" -> POSTGRESQL;
            default ->
                throw new SQLException(
                        "FencedJdbc does not know the database '" + product + "'; use PostgreSQL or H2", "0A000");
        };
    }
}
