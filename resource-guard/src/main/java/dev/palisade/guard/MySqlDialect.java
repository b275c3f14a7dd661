package dev.palisade.guard;

import dev.palisade.contract.Mode;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Dialect of MySQL and MariaDB with InnoDB, by either driver. Refuses servers on which a row lock does not hold against every
 * other writer: clusters that take writes on several nodes, replicas, and databases that only speak MySQL's protocol.
 *
 * <p>InnoDB's locking reads and updates see the newest committed row, whatever snapshot the transaction has. READ COMMITTED
 * takes a snapshot for each statement, so the transactions of {@link FencedJdbc}'s own are in order; one that is joined may read
 * on from an older snapshot, and {@link FenceTable#isCurrent} finds that out.
 */
final class MySqlDialect extends SqlDialect {
    /** They answer as MySQL does and have other locks, or none. */
    private static final Pattern OTHERS = Pattern.compile(
            "tidb|vitess|planetscale|singlestore|memsql|oceanbase|polardb-x|dolt|starrocks|doris|clickhouse|databend");

    private final boolean mariaDb;
    /** Whether the table was found to be in order once; before that each check asks. */
    private volatile boolean tableIsKnown;

    private MySqlDialect(boolean mariaDb) {
        this.mariaDb = mariaDb;
    }

    static MySqlDialect of(Connection connection) throws SQLException {
        Map<String, String> variables = new HashMap<>();
        // SHOW leaves out what this server does not have; SELECT @@name would fail.
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW VARIABLES WHERE Variable_name IN ('version',"
                        + " 'version_comment', 'wsrep_on', 'group_replication_single_primary_mode')")) {
            while (row.next()) {
                variables.put(row.getString(1).toLowerCase(Locale.ROOT), row.getString(2));
            }
        }
        return of(variables, connection.getMetaData().getURL());
    }

    /** @throws SQLException in one line, for a server or a way to connect under which the check would not hold */
    static MySqlDialect of(Map<String, String> variables, @Nullable String url) throws SQLException {
        String version = variables.getOrDefault("version", "") + " " + variables.getOrDefault("version_comment", "");
        if (OTHERS.matcher(version.toLowerCase(Locale.ROOT)).find()) {
            throw refused("does not know the database '" + version.strip()
                    + "', which only speaks MySQL's protocol; use PostgreSQL, MySQL, MariaDB or H2");
        }
        if (isOn(variables.get("wsrep_on"))) {
            throw refused("cannot use a Galera cluster (wsrep_on): its nodes do not see each other's row locks");
        }
        if ("OFF".equalsIgnoreCase(variables.get("group_replication_single_primary_mode"))) {
            throw refused("cannot use group replication with several primaries: they do not see each other's row locks;"
                    + " use group_replication_single_primary_mode");
        }
        if (url != null && url.toLowerCase(Locale.ROOT).contains("transactionreplay=true")) {
            throw refused("cannot use transactionReplay: the driver would repeat a write without looking at what its"
                    + " check found; leave it out of the URL");
        }
        return new MySqlDialect(version.contains("MariaDB"));
    }

    private static SQLException refused(String why) {
        return new SQLException("FencedJdbc " + why, "0A000");
    }

    private static boolean isOn(@Nullable String value) {
        return value != null && !value.equals("0") && !value.equalsIgnoreCase("OFF");
    }

    /** MariaDB has no FOR SHARE; both know this older form. */
    @Override
    String shareLock(int isolation) {
        return " LOCK IN SHARE MODE";
    }

    @Override
    int isolation(Mode mode) {
        return Connection.TRANSACTION_READ_COMMITTED;
    }

    /** Not a plain INSERT, whose duplicate leaves a shared lock: two that waited for a third would be in each other's way. */
    @Override
    String insertUnlessPresent(String table, String columnsAndValues) {
        return "INSERT INTO " + table + " " + columnsAndValues + " ON DUPLICATE KEY UPDATE resource = resource";
    }

    @Override
    String insertOrShare(String columnsAndValues) {
        return "INSERT IGNORE INTO palisade_fence " + columnsAndValues;
    }

    /** A row that was there counts 0 or 1, as useAffectedRows says. */
    @Override
    boolean countsInserts() {
        return false;
    }

    /** When the statement arrived. In no time zone: that of the session may repeat an hour. */
    @Override
    String nowMillis() {
        return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";
    }

    /** The column is binary, so that no collation makes two names one; so must be the name, whatever the connection's encoding. */
    @Override
    void bindResource(PreparedStatement statement, int index, String resource) throws SQLException {
        statement.setBytes(index, utf8(resource));
    }

    /**
     * The session's. innodb_lock_wait_timeout counts whole seconds, so the time of the statement is bounded as well: by MariaDB of
     * any, by MySQL of a SELECT.
     *
     * @throws SQLException 25006 on a replica: its rows are copies, and accounts that may write to it lock nothing elsewhere
     */
    @Override
    String boundLockWait(Connection connection, Duration wait) throws SQLException {
        String before;
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT @@SESSION.innodb_lock_wait_timeout, @@SESSION."
                        + statementLimit() + ", @@GLOBAL.read_only, @@GLOBAL.innodb_read_only")) {
            row.next();
            before = row.getString(1) + " " + row.getString(2);
            if (isOn(row.getString(3)) || isOn(row.getString(4))) {
                throw new SQLException("the server is read_only, as replicas are", "25006");
            }
        }
        BigDecimal limit = mariaDb ? BigDecimal.valueOf(wait.toMillis(), 3) : BigDecimal.valueOf(wait.toMillis());
        set(connection, Math.max(1, wait.plusMillis(999).toSeconds()), limit);
        return before;
    }

    @Override
    void restoreLockWait(Connection connection, String before) throws SQLException {
        int space = before.indexOf(' ');
        set(connection, Long.parseLong(before.substring(0, space)), new BigDecimal(before.substring(space + 1)));
    }

    private void set(Connection connection, long lockWaitSeconds, BigDecimal statementLimit) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SESSION innodb_lock_wait_timeout = " + lockWaitSeconds + ", SESSION "
                    + statementLimit() + " = " + statementLimit.toPlainString());
        }
    }

    /** MariaDB's in seconds, MySQL's in milliseconds. */
    private String statementLimit() {
        return mariaDb ? "max_statement_time" : "max_execution_time";
    }

    /** SET SESSION TRANSACTION does not change the transaction that is open, nor does autocommit off end it. */
    @Override
    void endEarlierTransaction(Connection connection) throws SQLException {
        connection.rollback();
    }

    @Override
    boolean locksBeforeItCompares() {
        return true;
    }

    @Override
    void requireDurableCommits(Connection connection) throws SQLException {
        Map<String, String> variables = new HashMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW GLOBAL VARIABLES WHERE Variable_name IN"
                        + " ('innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog')")) {
            while (row.next()) {
                variables.put(row.getString(1).toLowerCase(Locale.ROOT), row.getString(2));
            }
        }
        requireDurableCommits(variables);
    }

    /** With a binary log, recovery rolls back what is prepared and not in it: then its sync makes a commit durable. */
    static void requireDurableCommits(Map<String, String> variables) throws SQLException {
        if (!"1".equals(variables.get("innodb_flush_log_at_trx_commit"))) {
            throw new SQLException("innodb_flush_log_at_trx_commit is not 1; set it", "0A000");
        }
        if (isOn(variables.get("log_bin")) && !"1".equals(variables.get("sync_binlog"))) {
            throw new SQLException("the binary log is on and sync_binlog is not 1; set it", "0A000");
        }
    }

    @Override
    List<String> registerDdl() {
        return List.of("palisade_register_mysql.sql");
    }

    @Override
    String ddlResource() {
        return "palisade_fence_mysql.sql";
    }

    /** MySQL does not know IF NOT EXISTS here. */
    @Override
    String addColumn(String definition) {
        return "ALTER TABLE palisade_fence ADD COLUMN " + definition;
    }

    /** Other engines lock or roll back nothing, and in other types names differ that differ in case only, or in a space. */
    @Override
    void requireTable(Connection connection) throws SQLException {
        if (tableIsKnown) {
            return;
        }
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT t.ENGINE, c.DATA_TYPE, c.COLUMN_KEY"
                        + " FROM information_schema.TABLES t JOIN information_schema.COLUMNS c"
                        + " ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME"
                        + " WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = 'palisade_fence'"
                        + " AND c.COLUMN_NAME = 'resource'")) {
            String found = row.next()
                    ? "engine " + row.getString(1) + ", resource " + row.getString(2) + " " + row.getString(3)
                    : "no table of this schema";
            if (!found.equalsIgnoreCase("engine InnoDB, resource varbinary PRI")) {
                throw new SQLException("palisade_fence is not the table of palisade_fence_mysql.sql, it is " + found
                        + "; it must be InnoDB with a VARBINARY resource as its primary key");
            }
        }
        tableIsKnown = true;
    }
}
