package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;

/** On a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@NullUnmarked
class SharedRegisterOnPostgresTest extends SharedRegisterOnSqlContract {
    private static EmbeddedPostgres postgres;

    @BeforeAll
    static void start() throws IOException {
        postgres = PatientPostgres.builder()
                .setServerConfig("synchronous_commit", "on")
                .start();
    }

    @AfterAll
    static void stop() throws IOException {
        postgres.close();
    }

    @Override
    DataSource database() {
        return postgres.getPostgresDatabase();
    }

    @Test
    void databaseThatMayTakeCommitsBackIsRefused() {
        DataSource careless =
                postgres.getDatabase("postgres", "postgres", Map.of("options", "-c synchronous_commit=off"));
        assertThatThrownBy(() -> builder(MarkStore.shared(careless)).build())
                .hasMessageContaining("synchronous_commit is off");
    }

    /** Such as a process that gets SIGSTOP between two statements: its locks end without it. */
    @Test
    void transactionThatStandsStillKeepsNoOtherGuardOut() throws SQLException {
        Guard guard = guard();
        admitted(write(guard, 33)).close();
        try (MarkTransaction stopped = MarkTransaction.begin(database(), 1)) {
            new RegisterTables(stopped.connection(), new PostgresDialect(), 1).lockMark(ORDER.resource());
            await(() -> write(guard, 34)
                    .handle((admission, refused) -> {
                        if (admission != null) {
                            admission.close();
                        }
                        return admission != null;
                    })
                    .join());
            assertThatThrownBy(stopped::commit).isInstanceOf(SQLException.class);
        }
    }

    /** Such as one whose packets are lost: it takes a thread of the guard for a second or two, and not for ever. */
    @Test
    void connectionThatFreezesBeforeItsTransactionIsGivenUp() throws Exception {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
            assertThat(row.next()).isTrue();
            String pid = row.getString(1);
            signal("-STOP", pid);
            try {
                CompletableFuture<MarkTransaction> begun =
                        CompletableFuture.supplyAsync(() -> begin(new GivenConnection(connection)));
                assertThatThrownBy(() -> begun.get(60, TimeUnit.SECONDS))
                        .hasRootCauseInstanceOf(SocketTimeoutException.class);
            } finally {
                signal("-CONT", pid);
            }
        }
    }

    /** A pool whose next connection is this one. */
    private static final class GivenConnection extends PGSimpleDataSource {
        private static final long serialVersionUID = 1L;
        private final transient Connection connection;

        GivenConnection(Connection connection) {
            this.connection = connection;
        }

        @Override
        public Connection getConnection() {
            return connection;
        }
    }

    private static MarkTransaction begin(DataSource database) {
        try {
            return MarkTransaction.begin(database, 1);
        } catch (SQLException e) {
            throw new CompletionException(e);
        }
    }

    private static void signal(String signal, String pid) throws Exception {
        assertThat(new ProcessBuilder("kill", signal, pid).inheritIO().start().waitFor())
                .isZero();
    }

    @Test
    void waitingCallIsWokenByNotify() {
        execute("DELETE FROM palisade_register_waits");
        assertThatWaitingCallsAreWoken(
                MarkStore.shared(database(), Duration.ofMinutes(5), database()), () -> listeners() == 1);
        assertThat(number("SELECT COUNT(*) FROM palisade_register_waits")).isZero();
    }

    private long listeners() {
        return number("SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND state = 'idle'");
    }

    /** Its poll would come after 10 s of silence; here its connection is cut. */
    @Test
    void listenerConnectsAgainAndEndsWithItsGuard() {
        Guard guard = opened(builder(MarkStore.shared(database(), Duration.ofMinutes(5), database())));
        await(() -> listeners() == 1);
        long first = number("SELECT MAX(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'");
        execute("SELECT pg_terminate_backend(" + first + ")");
        await(() -> listeners() == 1
                && number("SELECT MAX(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'") != first);
        guard.close();
        await(() -> listeners() == 0);
    }

    @Test
    void tablesOfAnEarlierVersionAreReportedAndWaitingCallsPoll() {
        execute("DROP TABLE palisade_register_waits");
        try {
            List<String> warnings = new CopyOnWriteArrayList<>();
            Guard one = guard();
            Guard two = opened(builder(MarkStore.shared(database(), Duration.ofMinutes(5), database()))
                    .eventLines(warnings::add));
            assertThat(warnings).anyMatch(line -> line.contains("register_polls") && line.contains("createTables"));
            Admission old = admitted(write(one, 33));
            CompletableFuture<Admission> next = write(two, 34);
            awaitMark(34);
            old.close();
            admitted(next).close();
        } finally {
            MarkStore.createTables(database());
        }
    }

    /** Whether a statement of another transaction waits for a lock. */
    private boolean isAnyWaiting() {
        return number("SELECT COUNT(*) FROM pg_locks WHERE NOT granted") > 0;
    }

    /** What {@code first} has written, uncommitted, is met by {@code second}; then it is committed. */
    private void meet(String first, Runnable second) throws SQLException {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute(first);
            CompletableFuture<Void> meeting = CompletableFuture.runAsync(second);
            await(this::isAnyWaiting);
            connection.commit();
            meeting.orTimeout(60, TimeUnit.SECONDS).join();
        }
    }

    @Test
    void replicasThatStartTogetherMakeOneRegister() throws SQLException {
        empty();
        meet(
                "INSERT INTO palisade_marks_owner (id, owner, complete, closed_in_order, marks_id)"
                        + " VALUES (1, 'shared', FALSE, FALSE, 'abc')",
                this::guard);
        assertThat(number("SELECT COUNT(*) FROM palisade_register_guards")).isEqualTo(1);
    }

    @Test
    void replicasThatStartTogetherMakeTheTables() throws SQLException {
        execute("DROP TABLE palisade_register");
        meet(
                "CREATE TABLE palisade_register (id SMALLINT NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL,"
                        + " settled BIGINT NOT NULL, delta_millis BIGINT NOT NULL)",
                () -> MarkStore.createTables(database()));
    }

    @Test
    void guardThatStartsWhileMarksAreRaisedIsNotInTheWay() throws Exception {
        SharedRegister store = (SharedRegister) MarkStore.shared(database(), Duration.ofMinutes(5));
        opened(builder(store));
        try (Connection starting = database().getConnection();
                Statement statement = starting.createStatement()) {
            starting.setAutoCommit(false);
            statement.execute("SELECT owner FROM palisade_marks_owner WHERE id = 1 FOR UPDATE");
            CompletableFuture<Void> raising = store.forgetMarks().toCompletableFuture();
            await(this::isAnyWaiting);
            statement.execute("UPDATE palisade_register SET delta_millis = 1 WHERE id = 1");
            starting.commit();
            raising.get(60, TimeUnit.SECONDS);
        }
        assertThat(number("SELECT epoch FROM palisade_register")).isEqualTo(1);
    }
}
