package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.examples.GuardAWrite;
import dev.palisade.examples.SeveralReplicas;
import dev.palisade.examples.SeveralReplicasOnRedis;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.redis.RedisRegister;
import dev.palisade.mariadb.MariaDbServer;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.redis.RedisProcess;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.mariadb.jdbc.MariaDbDataSource;

/** The reader of the guides for data in a database, and for several replicas. */
final class DatabaseReader implements ReaderProgram {
    private static final String PROMOTED = ":promoted_at_millis";
    private static final String GUARD_ID = "'...'";

    private final DataSource database;
    private final Deque<Closeable> opened = new ArrayDeque<>();
    private @Nullable Guard replica;
    private @Nullable Path keyset;
    private String replicaId = "";

    private DatabaseReader(DataSource database, Closeable server) throws SQLException {
        this.database = database;
        opened.push(server);
        execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, status VARCHAR(20))");
        execute("INSERT INTO orders VALUES (42, 'new')");
    }

    static DatabaseReader onPostgres() throws IOException, SQLException {
        EmbeddedPostgres postgres = PatientPostgres.builder()
                .setServerConfig("synchronous_commit", "on")
                .start();
        return new DatabaseReader(postgres.getPostgresDatabase(), postgres);
    }

    /** Skips the test where there is no MariaDB. */
    static DatabaseReader onMariaDb() throws IOException, InterruptedException, SQLException {
        MariaDbServer server = MariaDbServer.startOrSkip();
        DatabaseReader reader = new DatabaseReader(new MariaDbDataSource(server.url("mariadb", "")), server::close);
        // The server of tests syncs nothing, whatever this says.
        reader.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
        return reader;
    }

    @Override
    public void run(String example, PageTerminal terminal) throws Exception {
        Path keys = terminal.keyset();
        keyset = keys;
        if (example.endsWith("/GuardAWrite.java")) {
            GuardAWrite.run(database, keys, ReaderProgram.signed(keys, "orders/42", 34));
            assertThat(text("SELECT status FROM orders WHERE id = 42")).isEqualTo("paid");
            assertThatThrownBy(() -> GuardAWrite.run(database, keys, ReaderProgram.signed(keys, "orders/42", 33)))
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
        } else if (example.endsWith("/SeveralReplicas.java")) {
            MarkStore.createTables(database);
            MarkStore.createNeverUsed(database);
            ManagedChannel locks = Grpc.newChannelBuilder(terminal.lockServer(), InsecureChannelCredentials.create())
                    .build();
            opened.push(locks::shutdownNow);
            Guard guard = SeveralReplicas.guard(database, keys, locks);
            opened.push(guard::close);
            replica = guard;
            enterInTheEnd(7).close();
        } else if (example.endsWith("/SeveralReplicasOnRedis.java")) {
            shareInRedis(keys, terminal.lockServer());
        } else {
            throw ReaderProgram.unknown(example);
        }
    }

    /** As two replicas of another service: what one admits, the other knows. */
    private static void shareInRedis(Path keys, String lockServer) throws IOException {
        ManagedChannel locks = Grpc.newChannelBuilder(lockServer, InsecureChannelCredentials.create())
                .build();
        try (RedisProcess redis = RedisProcess.start();
                RedisClient client = RedisClient.create(redis.uri());
                StatefulRedisConnection<String, String> one = client.connect();
                StatefulRedisConnection<String, String> two = client.connect()) {
            RedisRegister.createNeverUsed(one, "orders");
            try (Guard first = SeveralReplicasOnRedis.guard(one, keys, locks);
                    Guard second = SeveralReplicasOnRedis.guard(two, keys, locks)) {
                enterInTheEnd(() -> enter(first, keys, "orders/7", 8)).close();
                enterInTheEnd(() -> enter(second, keys, "orders/7", 9)).close();
                assertThatThrownBy(() -> enter(first, keys, "orders/7", 8))
                        .isInstanceOfSatisfying(
                                RejectedException.class,
                                e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
            }
        } finally {
            locks.shutdownNow();
        }
    }

    private Admission enterInTheEnd(long token) {
        return enterInTheEnd(() -> enter(token));
    }

    /** A call that the guard admits, once it has registered. */
    private static Admission enterInTheEnd(Callable<Admission> call) {
        return await().atMost(Duration.ofMinutes(1))
                .ignoreException(RejectedException.class)
                .until(call, admission -> true);
    }

    private Admission enter(long token) throws IOException, InterruptedException {
        return enter(Objects.requireNonNull(replica), Objects.requireNonNull(keyset), "stock/7", token);
    }

    private static Admission enter(Guard guard, Path keyset, String lock, long token)
            throws IOException, InterruptedException {
        return guard.enter(ReaderProgram.signed(keyset, lock, token), Access.WRITE, Binding.of(lock));
    }

    @Override
    public void sql(String statement) throws Exception {
        if (statement.contains(PROMOTED)) {
            long now = System.currentTimeMillis();
            assertThat(execute(statement.replace(PROMOTED, Long.toString(now))))
                    .as("marks raised after the promotion")
                    .isZero();
            long later = now + TimeUnit.HOURS.toMillis(2);
            assertThat(execute(statement.replace(PROMOTED, Long.toString(later))))
                    .isEqualTo(1);
        } else if (statement.startsWith("SELECT g.id")) {
            enterInTheEnd(8);
            try (Connection connection = database.getConnection();
                    Statement query = connection.createStatement();
                    ResultSet guards = query.executeQuery(statement)) {
                assertThat(guards.next()).isTrue();
                replicaId = guards.getString("id");
                assertThat(guards.getString("owner"))
                        .contains(Long.toString(ProcessHandle.current().pid()));
                assertThat(guards.getInt("calls")).isEqualTo(1);
                assertThat(guards.next()).as("another guard").isFalse();
            }
        } else if (statement.contains(GUARD_ID)) {
            assertThat(execute(statement.replace(GUARD_ID, "'" + replicaId + "'")))
                    .isEqualTo(1);
            assertThatThrownBy(() -> enter(9))
                    .as("a guard that still runs is shut out")
                    .isInstanceOf(RejectedException.class);
        } else {
            throw ReaderProgram.unknown(statement);
        }
    }

    private int execute(String statement) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement update = connection.createStatement()) {
            return update.executeUpdate(statement);
        }
    }

    private String text(String query) throws SQLException {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            assertThat(row.next()).isTrue();
            return row.getString(1);
        }
    }

    @Override
    public void close() throws IOException {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
