package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;

/**
 * Differences between the databases that {@link FencedJdbc} knows, one subclass each. Never decides which call is admitted.
 * Safe for use by many threads.
 */
abstract class SqlDialect {
    /**
     * A SELECT that waits in a fair queue of the resource in its one parameter, together with others if SHARED, until the
     * transaction ends. Empty where the waits for a row are such a queue. Only for fairness: safety comes from the row alone.
     */
    String queue(Mode mode) {
        return "";
    }

    /** The lock clause of a SHARED reader's SELECT at {@code isolation}. */
    abstract String shareLock(int isolation);

    /** The isolation of a transaction that {@link FencedJdbc} opens itself. */
    abstract int isolation(Mode mode);

    /**
     * An INSERT that leaves the transaction usable when the row is there: it then changes nothing, or fails
     * with 23505.
     *
     * @param table a table with the key {@code resource}
     * @param columnsAndValues such as {@code (resource) VALUES (?)}
     */
    abstract String insertUnlessPresent(String table, String columnsAndValues);

    /** The same for a SHARED reader that holds on to the row: where an INSERT locks a row that is there, by its shared lock. */
    String insertOrShare(String columnsAndValues) {
        return insertUnlessPresent("palisade_fence", columnsAndValues);
    }

    /** Whether the count of {@link #insertUnlessPresent} tells an inserted row from one that was there. */
    boolean countsInserts() {
        return true;
    }

    /** The present by the database's clock, as an expression: milliseconds since 1970. */
    abstract String nowMillis();

    /** Binds the name of a resource to a parameter. */
    void bindResource(PreparedStatement statement, int index, String resource) throws SQLException {
        statement.setString(index, resource);
    }

    /** Bounds waits for row locks from here on; returns what {@link #restoreLockWait} wants back. */
    abstract String boundLockWait(Connection connection, Duration wait) throws SQLException;

    abstract void restoreLockWait(Connection connection, String before) throws SQLException;

    /** Whether a rollback restores the lock wait too, and nothing else can in a transaction that failed. */
    boolean rollbackRestoresLockWait() {
        return false;
    }

    /** Ends what an earlier user of the connection may have left open, where that would give this user an older snapshot. */
    void endEarlierTransaction(Connection connection) throws SQLException {}

    /**
     * Whether UPDATE and locking SELECT lock the row first, newer than the transaction's snapshot or not, and keep the lock when it
     * then does not match. Others wait for a row only if it may match, and end a transaction whose snapshot is older.
     */
    boolean locksBeforeItCompares() {
        return false;
    }

    /** Where the DDL of a shared register is, beside this class; empty: the database cannot hold one. */
    List<String> registerDdl() {
        return List.of();
    }

    /** Whether guards of a shared register can announce to each other that a call has ended. */
    boolean canAnnounceLeaves(Connection connection) throws SQLException {
        return false;
    }

    /** @throws SQLException in one line, when a crash of the database may take back what it has committed */
    void requireDurableCommits(Connection connection) throws SQLException {}

    /** The first column of the one row of {@code query}. */
    static String one(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getString(1);
        }
    }

    /** Where the DDL of the table is, beside this class. */
    String ddlResource() {
        return "palisade_fence.sql";
    }

    /** Adds {@code definition} to palisade_fence. */
    String addColumn(String definition) {
        return "ALTER TABLE palisade_fence ADD COLUMN IF NOT EXISTS " + definition;
    }

    /** @throws SQLException in one line, when the table of this connection cannot hold marks */
    void requireTable(Connection connection) throws SQLException {}

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** @throws SQLException in one line, for a database whose rules are not known */
    static SqlDialect of(Connection connection) throws SQLException {
        DatabaseMetaData metaData = connection.getMetaData();
        String product = metaData.getDatabaseProductName();
        return switch (product) {
            case "H2" -> new H2Dialect();
            case "PostgreSQL" -> new PostgresDialect();
            case "MySQL", "MariaDB" -> MySqlDialect.of(connection);
            default ->
                throw new SQLException(
                        "FencedJdbc does not know the database '" + product + "'; use PostgreSQL, MySQL, MariaDB or H2",
                        "0A000");
        };
    }
}
