package dev.palisade.server.store.postgresql;

import com.google.common.net.HostAndPort;
import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.jdbc.AutoSave;

/** A connection to the primary, configured so that a commit is as durable as the log needs. Used by one thread at a time. */
final class PostgresSession implements AutoCloseable {
    private static final int VERSION_MIN = 130_000;
    private static final int VERSION_OF_MAJOR = 10_000;
    private static final int TIMELINE_DIGITS = 8;
    private static final int CREATE_TRIES = 5;

    private final Connection connection;
    private final HostAndPort server;
    private final String instance;

    private PostgresSession(Connection connection, HostAndPort server, String instance) {
        this.connection = connection;
        this.server = server;
        this.instance = instance;
    }

    /**
     * Connects to the primary, of several to that on the latest timeline, and creates the tables if there are none.
     *
     * @throws StoreUnusable if PostgreSQL is not such that a log can be kept in it
     * @throws SQLException if it cannot be reached, or does not let this user in
     */
    static PostgresSession open(PostgresLogConfig config, LogSql sql, EventLog events)
            throws SQLException, StoreUnusable {
        String name = "PostgreSQL " + config.uri();
        PostgresSession latest = PrimarySearch.find(config, sql, config.uri().servers());
        boolean opened = false;
        try {
            latest.setUp(name, config, events);
            opened = true;
            return latest;
        } finally {
            if (!opened) {
                latest.close();
            }
        }
    }

    /** Null if it is a standby. */
    static @Nullable PostgresSession connect(PostgresLogConfig config, HostAndPort server, LogSql sql)
            throws SQLException, StoreUnusable {
        String name = "PostgreSQL " + config.uri();
        Connection connection = source(config, server).getConnection();
        String instance = "";
        try {
            connection.setNetworkTimeout(Runnable::run, config.timeoutMillis());
            instance = instance(connection, sql, name);
        } finally {
            if (instance.isEmpty()) {
                connection.close();
            }
        }
        return instance.isEmpty() ? null : new PostgresSession(connection, server, instance);
    }

    private static PGSimpleDataSource source(PostgresLogConfig config, HostAndPort server) throws SQLException {
        PostgresUri uri = config.uri();
        int seconds = Math.max(1, (int) Math.ceil(config.timeoutMillis() / 1000.0));
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setServerNames(new String[] {server.getHost()});
        source.setPortNumbers(new int[] {server.getPort()});
        source.setDatabaseName(uri.database());
        if (!uri.user().isEmpty()) {
            source.setUser(uri.user());
        }
        if (!uri.password().isEmpty()) {
            source.setPassword(uri.password());
        }
        for (var parameter : uri.parameters().entrySet()) {
            source.setProperty(parameter.getKey(), parameter.getValue());
        }
        source.setConnectTimeout(seconds);
        source.setSocketTimeout(seconds);
        source.setTcpKeepAlive(true);
        source.setPrepareThreshold(1);
        source.setAutosave(AutoSave.NEVER);
        source.setApplicationName("palisade " + config.log() + " " + config.address());
        return source;
    }

    /** That of the running PostgreSQL; empty if it is a standby. */
    private static String instance(Connection connection, LogSql sql, String name) throws SQLException, StoreUnusable {
        try (PreparedStatement asks = connection.prepareStatement(sql.checkServer);
                ResultSet row = asks.executeQuery()) {
            row.next();
            int version = row.getInt(1);
            if (version < VERSION_MIN) {
                throw new StoreUnusable(name + " is of version " + version / VERSION_OF_MAJOR + "; use 13 or newer");
            }
            if (row.getInt(2) != connection.unwrap(PGConnection.class).getBackendPID()) {
                throw new StoreUnusable(
                        name
                                + " is reached through a pooler, which may change the session at any time; name PostgreSQL itself");
            }
            return row.getString(3);
        }
    }

    /** Whether this server was promoted after the other one. */
    boolean isLaterThan(PostgresSession other) {
        return timeline().compareTo(other.timeline()) > 0;
    }

    /** Eight hex digits. */
    String timeline() {
        return instance.substring(0, TIMELINE_DIGITS);
    }

    private void setUp(String name, PostgresLogConfig config, EventLog events) throws SQLException, StoreUnusable {
        warnOfLoss(name, events);
        try (PreparedStatement sets = prepare(LogSql.SET_UP_SESSION)) {
            // A claim that waits for a row gives up before the connection does.
            sets.setString(1, config.timeoutMillis() * 3 / 4 + "ms");
            sets.execute();
        }
        if (!hasTables()) {
            createTables(name);
        }
        addColumns(name);
        try (PreparedStatement asks = prepare(LogSql.RIGHTS);
                ResultSet row = asks.executeQuery()) {
            row.next();
            String missing = row.getString(1);
            if (missing != null) {
                throw new StoreUnusable(name + " does not let this user do " + missing + "; grant these rights");
            }
        }
    }

    private void warnOfLoss(String name, EventLog events) throws SQLException {
        try (PreparedStatement asks = prepare(LogSql.SURVIVES_CRASH);
                ResultSet row = asks.executeQuery()) {
            row.next();
            if (!row.getBoolean(1)) {
                events.tell(
                        "store_warning",
                        "message",
                        name + " has fsync or full_page_writes switched off: a crash of its machine can lose locks and"
                                + " tokens; switch both on");
            }
        }
    }

    /** Creates the tables, unless another lock server does so at the same moment. */
    private void createTables(String name) throws SQLException, StoreUnusable {
        for (int tries = 1; ; tries++) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(tables());
                return;
            } catch (SQLException e) {
                if (!isAlive()) {
                    throw e;
                }
                if (hasTables()) {
                    return;
                }
                if (PostgresFailure.isRight(e) || tries == CREATE_TRIES) {
                    String remedy = PostgresFailure.isRight(e)
                            ? "grant CREATE on the schema, or run postgresql/log.sql of the server's jar"
                            : "see what else creates tables there";
                    throw new StoreUnusable(
                            name + " has no tables for the log, and they cannot be created (" + PostgresFailure.line(e)
                                    + "); " + remedy,
                            e);
                }
            }
        }
    }

    /** To a table of an earlier release. */
    private void addColumns(String name) throws SQLException, StoreUnusable {
        if (!isTrue(LogSql.LACKS_COLUMNS)) {
            return;
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute(LogSql.ADD_COLUMNS);
        } catch (SQLException e) {
            if (!PostgresFailure.isRight(e)) {
                throw e;
            }
            throw new StoreUnusable(
                    name + " has a table of an earlier release, and this user cannot change it ("
                            + PostgresFailure.line(e) + "); run as its owner: " + LogSql.ADD_COLUMNS,
                    e);
        }
    }

    private boolean hasTables() throws SQLException {
        return isTrue(LogSql.HAS_TABLES);
    }

    private boolean isTrue(String question) throws SQLException {
        try (PreparedStatement asks = prepare(question);
                ResultSet row = asks.executeQuery()) {
            return row.next() && row.getBoolean(1);
        }
    }

    private static String tables() {
        try (InputStream sql =
                Objects.requireNonNull(PostgresSession.class.getResourceAsStream("/postgresql/log.sql"), "log.sql")) {
            return new String(sql.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    HostAndPort server() {
        return server;
    }

    /** Of the running PostgreSQL: timeline and time of its start. */
    String instance() {
        return instance;
    }

    String version() throws SQLException {
        return connection.getMetaData().getDatabaseProductVersion();
    }

    PreparedStatement prepare(String sql) throws SQLException {
        return connection.prepareStatement(sql);
    }

    boolean isAlive() {
        try {
            return !connection.isClosed();
        } catch (SQLException e) {
            return false;
        }
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException e) {
            // It is of no use any more, whatever became of it.
        }
    }
}
