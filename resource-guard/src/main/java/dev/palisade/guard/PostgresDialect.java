package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

/** Dialect of PostgreSQL. Stateless. */
final class PostgresDialect extends SqlDialect {
    /**
     * FOR SHARE joins those that have the row although a writer waits for it, so readers that overlap would keep it out for ever.
     * Advisory locks are granted in order. Two resources with one hash wait for each other, no more.
     */
    @Override
    String queue(Mode mode) {
        return "SELECT pg_advisory_xact_lock" + (mode == Mode.SHARED ? "_shared" : "") + "(hashtextextended(?, 34))";
    }

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
    String insertUnlessPresent(String table, String columnsAndValues) {
        return "INSERT INTO " + table + " " + columnsAndValues + " ON CONFLICT DO NOTHING";
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

    @Override
    List<String> registerDdl() {
        return List.of("palisade_marks.sql", "palisade_register.sql");
    }

    /** Tables of an earlier version have no place for waits. */
    @Override
    boolean canAnnounceLeaves(Connection connection) throws SQLException {
        return "t".equals(one(connection, "SELECT to_regclass('palisade_register_waits') IS NOT NULL"));
    }

    @Override
    void requireDurableCommits(Connection connection) throws SQLException {
        if (one(connection, "SHOW synchronous_commit").equals("off")) {
            throw new SQLException("synchronous_commit is off; turn it on for this account or database", "0A000");
        }
    }

    @Override
    boolean rollbackRestoresLockWait() {
        return true;
    }
}
