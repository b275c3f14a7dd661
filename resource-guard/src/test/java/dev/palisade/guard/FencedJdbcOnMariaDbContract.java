package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.mariadb.MariaDbServer;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The contract on a real MariaDB, and what only MySQL's rules bring; one subclass for each driver. */
@NullUnmarked
abstract class FencedJdbcOnMariaDbContract extends FencedJdbcContract {
    static final String WAITERS = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";

    private static MariaDbServer server;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        server = MariaDbServer.startOrSkip();
    }

    @AfterAll
    static void stop() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    static MariaDbServer server() {
        return server;
    }

    @Override
    String waitersSql() {
        return WAITERS;
    }

    @Override
    String counted() {
        return "BIGINT AUTO_INCREMENT";
    }

    @Override
    int snapshotIsolation() {
        return Connection.TRANSACTION_REPEATABLE_READ;
    }

    @Override
    boolean takesSnapshotBehindTheLock() {
        return true;
    }

    @Override
    String lockWait(Connection connection) throws SQLException {
        return number(connection, "SELECT @@innodb_lock_wait_timeout") + " "
                + number(connection, "SELECT @@max_statement_time * 1000");
    }

    @Override
    long now() throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            return number(connection, "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)");
        }
    }

    /** The server kills it, so what the driver makes of that is real. */
    private void kill(Connection connection) throws SQLException {
        long id = number(connection, "SELECT CONNECTION_ID()");
        execute("KILL CONNECTION " + id);
    }

    @Test
    void connectionThatDiesBeforeTheCommitIsNotApplied() throws SQLException {
        write(33, 330);
        Rejection rejection = refused(
                () -> fenced.write(grants.exclusive(LOCK, 34), ORDER, connection -> {
                    set(340).run(connection);
                    kill(connection);
                    return 0;
                }),
                Reason.STORE_UNAVAILABLE);
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "no");
        assertThat(fenced.mark(LOCK).exclusiveToken()).isEqualTo(33);
        assertThat(value()).isEqualTo(330);
    }

    @Test
    void connectionThatDiesAtTheCommitIsOutcomeUnknown() throws SQLException {
        write(33, 330);
        DataSource cut = withCommit(connection -> {
            kill(connection);
            connection.commit();
        });
        Rejection rejection =
                refused(() -> fenced(cut).write(grants.exclusive(LOCK, 34), ORDER, set(340)), Reason.OUTCOME_UNKNOWN);
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "unknown");
    }

    /** Code 1205 ends the statement alone; one driver gives it the state of a rollback. */
    @Test
    void lockTimeoutInTheWorkRollsAllOfItBackAndIsNotRepeated() throws SQLException {
        write(33, 330);
        execute("INSERT INTO data VALUES (2, 0)");
        AtomicInteger runs = new AtomicInteger();
        try (Connection other = open()) {
            execute(other, "UPDATE data SET v = 9 WHERE id = 2");
            assertThatThrownBy(() -> fenced.write(grants.exclusive(LOCK, 34), ORDER, connection -> {
                        runs.incrementAndGet();
                        set(340).run(connection);
                        execute(connection, "SET SESSION innodb_lock_wait_timeout = 1");
                        return execute(connection, "UPDATE data SET v = 340 WHERE id = 2");
                    }))
                    .isInstanceOfSatisfying(
                            SQLException.class,
                            e -> assertThat(e.getErrorCode()).isEqualTo(1205));
            other.rollback();
        }
        assertThat(runs).hasValue(1);
        assertThat(value()).isEqualTo(330);
        assertThat(fenced.mark(LOCK).exclusiveToken()).isEqualTo(33);
    }

    @Test
    void drainingInAJoinedTransactionLeavesNothingOnceItIsRolledBack() throws SQLException {
        write(33, 330);
        try (Connection holder = open();
                Connection mine = open()) {
            fenced.check(holder, grants.exclusive(LOCK, 33), ORDER, Access.WRITE);
            refused(
                    () -> fenced.withLockWait(Duration.ofMillis(50))
                            .check(mine, grants.exclusive(LOCK, 34), ORDER, Access.WRITE),
                    Reason.DRAINING);
            mine.rollback();
            holder.commit();
        }
        assertThat(fenced.mark(LOCK).exclusiveToken()).isEqualTo(33);
    }

    @Test
    void realDeadlockRunsTheWorkAgain() throws Exception {
        execute("INSERT INTO data VALUES (2, 0)");
        CountDownLatch both = new CountDownLatch(2);
        AtomicInteger runs = new AtomicInteger();
        Future<Integer> up = threads.submit(() -> crossed("up", 1, 2, both, runs));
        Future<Integer> down = threads.submit(() -> crossed("down", 2, 1, both, runs));
        up.get(60, TimeUnit.SECONDS);
        down.get(60, TimeUnit.SECONDS);
        assertThat(runs).as("one of them was rolled back").hasValueGreaterThan(2);
        assertThat(value()).isEqualTo(2);
    }

    private int crossed(String lock, int first, int second, CountDownLatch both, AtomicInteger runs)
            throws SQLException {
        return fenced.write(grants.exclusive(lock, 1), Binding.of(lock), connection -> {
            runs.incrementAndGet();
            execute(connection, "UPDATE data SET v = v + 1 WHERE id = " + first);
            both.countDown();
            uninterruptibly(both);
            return execute(connection, "UPDATE data SET v = v + 1 WHERE id = " + second);
        });
    }

    /** A locking read sees the newest row whatever the snapshot, so the check alone would pass and the next read be stale. */
    @Test
    void snapshotFromBeforeAnotherWriteIsFoundOut() throws SQLException {
        write(33, 330);
        for (boolean disguised : List.of(false, true)) {
            try (Connection mine = open()) {
                mine.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                long old = select(mine);
                write(33, old + 1);
                assertThat(select(mine)).as("reads on from its snapshot").isEqualTo(old);
                if (disguised) {
                    // Says nothing about the transaction that is open.
                    execute(mine, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
                }
                assertThatThrownBy(() -> fenced.check(mine, grants.exclusive(LOCK, 34), ORDER, Access.WRITE))
                        .isInstanceOf(SQLTransactionRollbackException.class);
                mine.rollback();
                fenced.check(mine, grants.exclusive(LOCK, 34), ORDER, Access.WRITE);
                assertThat(select(mine)).isEqualTo(old + 1);
                mine.rollback();
            }
        }
        try (Connection mine = open()) {
            mine.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            fenced.claim(grants.shared(LOCK, 40), ORDER);
            select(mine);
            fenced.claim(grants.shared(LOCK, 41), ORDER);
            assertThatThrownBy(() -> fenced.check(mine, grants.shared(LOCK, 40), ORDER, Access.READ))
                    .isInstanceOf(SQLTransactionRollbackException.class);
            mine.rollback();
        }
    }

    /** MariaDB 11.6 and later are set so by default: the database itself refuses a lock on a newer row, by code 1020. */
    @Test
    void snapshotIsolationOfTheServerIsARollbackToo() throws SQLException {
        write(33, 330);
        try (Connection mine = open()) {
            execute(mine, "SET SESSION innodb_snapshot_isolation = ON");
            mine.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            select(mine);
            write(33, 331);
            assertThatThrownBy(() -> fenced.check(mine, grants.exclusive(LOCK, 34), ORDER, Access.WRITE))
                    .isInstanceOf(SQLTransactionRollbackException.class);
            mine.rollback();
            fenced.check(mine, grants.exclusive(LOCK, 34), ORDER, Access.WRITE);
            mine.commit();
        }
    }

    @Test
    void poolThatHandsOutAnOpenTransactionGetsItEnded() throws SQLException {
        write(33, 330);
        try (Connection left = open()) {
            left.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            select(left);
            execute(left, "UPDATE data SET v = v WHERE id = 3");
            write(33, 331);
            Connection kept = proxy(Connection.class, left, "close", () -> null);
            DataSource pool = proxy(DataSource.class, dataSource, "getConnection", () -> kept);
            assertThat(fenced(pool).<Long>read(grants.exclusive(LOCK, 34), ORDER, FencedJdbcContract::select))
                    .isEqualTo(331);
        }
    }

    @Test
    void replicaIsRefusedThoughTheAccountMayWriteToIt() throws SQLException {
        fenced.claim(grants.shared(LOCK, 5), ORDER);
        execute("SET GLOBAL read_only = ON");
        try {
            execute("UPDATE data SET v = 7 WHERE id = 1");
            for (ThrowingCall call : List.<ThrowingCall>of(
                    () -> fenced.read(grants.shared(LOCK, 5), ORDER, FencedJdbcContract::select), () -> write(6, 60))) {
                assertThatThrownBy(call::run)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("primary")
                        .hasMessageNotContaining("\n");
            }
        } finally {
            execute("SET GLOBAL read_only = OFF");
        }
        assertThat(value()).isEqualTo(7);
    }

    private interface ThrowingCall {
        void run() throws SQLException;
    }

    @Test
    void readOnlyTransactionIsNamedForWhatItIs() throws SQLException {
        try (Connection mine = open()) {
            execute(mine, "SET TRANSACTION READ ONLY");
            assertThatThrownBy(() -> fenced.check(mine, grants.exclusive(LOCK, 34), ORDER, Access.WRITE))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("read-only");
            mine.rollback();
        }
    }

    @Test
    void tableOfAnotherEngineIsRefused() throws SQLException {
        execute("ALTER TABLE palisade_fence ENGINE = MyISAM");
        FencedJdbc late = fenced(dataSource);
        refused(() -> late.write(grants.exclusive(LOCK, 34), ORDER, set(340)), Reason.MARK_UNAVAILABLE);
        assertThat(value()).isZero();
        assertThatThrownBy(late::createTable)
                .hasMessageContaining("engine MyISAM")
                .hasMessageNotContaining("\n");
    }

    @Test
    void tableOfTheGeneralDdlIsRefused() throws Exception {
        execute("DROP TABLE palisade_fence");
        try (var ddl = FencedJdbc.class.getResourceAsStream("palisade_fence.sql")) {
            execute(new String(ddl.readAllBytes(), java.nio.charset.StandardCharsets.UTF_8));
        }
        FencedJdbc late = fenced(dataSource);
        assertThat(refused(() -> late.write(grants.exclusive(LOCK, 34), ORDER, set(340)), Reason.MARK_UNAVAILABLE)
                        .message())
                .contains("palisade_fence_mysql.sql");
        assertThat(value()).isZero();
    }

    @Test
    void namesThatDifferInCaseAccentOrSpaceHaveMarksOfTheirOwn() throws SQLException {
        List<String> names = List.of("a", "A", "\u00e4", "a\u0308", "a a", "a  a", "\u0436");
        for (int i = 0; i < names.size(); i++) {
            fenced.claim(grants.exclusive(LOCK, 50 - i), new Binding(names.get(i), ORDER.lock()));
        }
        for (int i = 0; i < names.size(); i++) {
            assertThat(fenced.mark(names.get(i)).exclusiveToken()).isEqualTo(50 - i);
        }
    }

    /** Nothing of theirs is rolled back with the mark; but no late call gets that far. */
    @Test
    void lateCallChangesNoTableOfAnotherEngineEither() throws SQLException {
        execute("DROP TABLE IF EXISTS loose");
        execute("CREATE TABLE loose (v BIGINT) ENGINE = MyISAM");
        fenced.write(grants.exclusive(LOCK, 34), ORDER, c -> execute(c, "INSERT INTO loose VALUES (34)"));
        refused(
                () -> fenced.write(grants.exclusive(LOCK, 33), ORDER, c -> execute(c, "INSERT INTO loose VALUES (33)")),
                Reason.TOKEN_STALE);
        try (Connection connection = dataSource.getConnection()) {
            assertThat(number(connection, "SELECT SUM(v) FROM loose")).isEqualTo(34);
        }
    }

    /** DDL commits: what follows it is in another transaction, without the check. */
    @Test
    void ddlInGuardedWorkIsFoundOutWhenAnotherGrantCameBetween() throws SQLException {
        assertThatThrownBy(() -> fenced.write(grants.exclusive(LOCK, 33), ORDER, connection -> {
                    execute(connection, "CREATE TABLE IF NOT EXISTS other (id INT)");
                    write(34, 340);
                    return set(330).run(connection);
                }))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.OUTCOME_UNKNOWN));
        assertThat(value()).isEqualTo(340);
    }
}
