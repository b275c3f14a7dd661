package dev.palisade.server.store.postgresql;

import dev.palisade.contract.EventLog;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.FencedLog;
import dev.palisade.server.store.log.SharedLogs;
import dev.palisade.server.store.log.SigningKeys;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A log in a database of the test's own, shared by any number of clients, whose clock and whose identity of the running PostgreSQL are in
 * the test's hand. All are in one PostgreSQL, which lasts as long as the tests' process.
 */
public final class Databases implements SharedLogs {
    private static final LogSql SQL =
            new LogSql("(SELECT millis FROM test_clock)", "(SELECT '00000001.' || instance FROM test_clock)");
    private static final AtomicInteger COUNT = new AtomicInteger();

    final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
    private final Random random = new Random(1);
    private final String database = "log" + COUNT.incrementAndGet();

    /** To the database, as the superuser. */
    private final Connection connection;

    private static final class Shared {
        static final EmbeddedPostgres POSTGRES = start();
        static final Connection ADMIN = connect("postgres");

        private static EmbeddedPostgres start() {
            try {
                return PatientPostgres.builder()
                        .setServerConfig("synchronous_commit", "on")
                        .setServerConfig("fsync", "on")
                        .setServerConfig("full_page_writes", "on")
                        .start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    public Databases(long millis) {
        ask(Shared.ADMIN, "CREATE DATABASE " + database);
        connection = connect(database);
        ask("CREATE TABLE test_clock (millis bigint, instance text); INSERT INTO test_clock VALUES (" + millis
                + ", 'a')");
    }

    @Override
    public FencedLog open(String address, SigningKeys keys) throws StoreUnusable {
        return open(uri("postgres"), address, keys, true, Duration.ofSeconds(2));
    }

    FencedLog open(String address, boolean init) throws StoreUnusable {
        return open(uri("postgres"), address, init, Duration.ofSeconds(2));
    }

    FencedLog open(String uri, String address, boolean init, Duration timeout) throws StoreUnusable {
        return open(uri, address, ANY_KEYS, init, timeout);
    }

    private FencedLog open(String uri, String address, SigningKeys keys, boolean init, Duration timeout)
            throws StoreUnusable {
        return PostgresLog.open(
                config(uri, address, init, timeout),
                keys,
                SQL,
                random,
                new EventLog(
                        events::add,
                        line -> {
                            events.add(line);
                            warnings.add(line);
                        },
                        System::nanoTime,
                        1_000));
    }

    static PostgresLogConfig config(String uri, String address, boolean init, Duration timeout) {
        return new PostgresLogConfig(
                PostgresUri.parse(uri),
                timeout,
                NAME,
                address,
                init,
                RECOVERY_MILLIS,
                CLAIM_MILLIS,
                SETTLE_MILLIS,
                SharedLogs.settings(address));
    }

    int port() {
        return Shared.POSTGRES.getPort();
    }

    String uri(String user) {
        return uri(user, port());
    }

    String uri(String user, int port) {
        return "postgresql://" + user + "@127.0.0.1:" + port + "/" + database;
    }

    @Override
    public void pass(long more) {
        ask("UPDATE test_clock SET millis = millis + " + more);
    }

    @Override
    public void restart() {
        ask("UPDATE test_clock SET instance = instance || 'x'");
    }

    @Override
    public void lose(Loss what) {
        switch (what) {
            case ALL -> ask("TRUNCATE palisade_log, palisade_log_batch");
            case BATCHES -> ask("DELETE FROM palisade_log_batch");
            case HEAD -> ask("DELETE FROM palisade_log");
            case LATER_BATCHES -> ask("DELETE FROM palisade_log_batch WHERE number BETWEEN 40 AND 74");
        }
    }

    @Override
    public String head(String field) {
        return ask("SELECT " + (field.equals("count") ? "batches" : field) + " FROM palisade_log");
    }

    @Override
    public long batches() {
        return Long.parseLong(ask("SELECT count(*) FROM palisade_log_batch WHERE generation = " + head("generation")));
    }

    @Override
    public List<String> generations() {
        return List.of(ask("SELECT string_agg(DISTINCT generation::text, ',') FROM palisade_log_batch")
                .split(","));
    }

    @Override
    public void cut() {
        ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
    }

    @Override
    public List<String> warnings() {
        return List.copyOf(warnings);
    }

    /** Runs statements as the superuser; the first value of the last one, if it has any. */
    public String ask(String sql) {
        return ask(connection, sql);
    }

    private static Connection connect(String database) {
        try {
            return Shared.POSTGRES.getDatabase("postgres", database).getConnection();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String ask(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            if (!statement.execute(sql)) {
                return "";
            }
            try (ResultSet rows = statement.getResultSet()) {
                return rows.next() ? String.valueOf(rows.getString(1)) : "";
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The bodies of all records, in the order in which they come. */
    static List<String> read(FencedLog from) throws Exception {
        List<String> bodies = new ArrayList<>();
        from.load(new FencedLog.Loader() {
            @Override
            public void record(long id, int index, ByteBuffer body) {
                bodies.add(StandardCharsets.UTF_8.decode(body).toString());
            }

            @Override
            public void deleted(long id) {}
        });
        return bodies;
    }

    @Override
    public void close() {
        ask(Shared.ADMIN, "DROP DATABASE " + database + " WITH (FORCE)");
    }
}
