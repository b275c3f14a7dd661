package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.grants.Grants;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link FencedJdbc#check} at a resource's first use, in a transaction of the caller's, on any database it knows. */
abstract class JoinedCheckContract {
    static final Binding ORDER = Binding.of("orders/42");

    final Grants grants = new Grants();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private DataSource dataSource = dataSource();

    abstract DataSource dataSource();

    /** Counts the sessions that wait for a row. */
    abstract String waitersSql();

    /** Whether a check that waited takes its snapshot afterwards; else its transaction must run again. */
    boolean takesSnapshotBehindTheLock() {
        return false;
    }

    @BeforeEach
    void freshTable() throws SQLException {
        dataSource = dataSource();
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS palisade_fence");
        }
        fenced().createTable();
    }

    @AfterEach
    void noThreadIsLeft() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }

    final FencedJdbc fenced() throws SQLException {
        return FencedJdbc.create(dataSource, grants.verifier());
    }

    @Test
    void firstUseNeedsOneConnectionOnly() throws SQLException {
        try (HikariDataSource pool = pool(1)) {
            FencedJdbc fenced = FencedJdbc.create(pool, grants.verifier());
            try (Connection mine = pool.getConnection()) {
                mine.setAutoCommit(false);
                Fence fence = fenced.check(mine, grants.exclusive("orders/42", 34), ORDER, Access.WRITE);
                fence.confirm(mine);
                mine.commit();
            }
            assertThat(fenced.mark("orders/42").exclusiveToken()).isEqualTo(34);
        }
    }

    @Test
    void fortyFirstWritesShareAPoolOfTen() throws Exception {
        try (HikariDataSource pool = pool(10)) {
            FencedJdbc fenced = FencedJdbc.create(pool, grants.verifier());
            List<Callable<Fence>> writes = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                String resource = "orders/" + i;
                writes.add(() -> {
                    try (Connection mine = pool.getConnection()) {
                        mine.setAutoCommit(false);
                        Fence fence =
                                fenced.check(mine, grants.exclusive(resource, 1), Binding.of(resource), Access.WRITE);
                        mine.commit();
                        return fence;
                    }
                });
            }
            for (Future<Fence> write : threads.invokeAll(writes)) {
                assertThat(write.get().sequencer().token().value()).isEqualTo(1);
            }
            assertThat(fenced.mark("orders/39").exclusiveToken()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
    void firstUseWorksUnderASnapshot(int isolation) throws SQLException {
        try (Connection mine = open()) {
            mine.setTransactionIsolation(isolation);
            Fence fence = fenced().check(mine, grants.exclusive("orders/42", 34), ORDER, Access.WRITE);
            fence.confirm(mine);
            mine.commit();
            fenced().check(mine, grants.shared("orders/42", 35), ORDER, Access.READ);
            mine.commit();
            fenced().check(mine, grants.shared("reports", 1), Binding.of("reports"), Access.READ)
                    .confirm(mine);
            mine.commit();
            mine.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        }
        assertThat(fenced().mark("orders/42").exclusiveToken()).isEqualTo(34);
        assertThat(fenced().mark("reports").sharedToken()).isEqualTo(1);
    }

    @Test
    void rollbackOfAFirstUseLeavesNoMark() throws SQLException {
        try (Connection mine = open()) {
            fenced().check(mine, grants.exclusive("orders/42", 34), ORDER, Access.WRITE);
            mine.rollback();
            assertThat(fenced().mark("orders/42")).isEqualTo(Mark.NONE);
            fenced().check(mine, grants.exclusive("orders/42", 33), ORDER, Access.WRITE);
            mine.commit();
        }
        assertThat(fenced().mark("orders/42").exclusiveToken()).isEqualTo(33);
    }

    @Test
    void olderFirstUserWaitsForANewerOneAndIsStale() throws Exception {
        try (Connection newer = open()) {
            fenced().check(newer, grants.exclusive("orders/42", 34), ORDER, Access.WRITE);
            Future<Fence> older = checkElsewhere(33, Connection.TRANSACTION_READ_COMMITTED);
            awaitAWaiter();
            newer.commit();
            assertThatThrownBy(() -> older.get(60, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
        }
    }

    @Test
    void olderFirstUserIsAdmittedAfterANewerOneRolledBack() throws Exception {
        try (Connection newer = open()) {
            fenced().check(newer, grants.exclusive("orders/42", 34), ORDER, Access.WRITE);
            Future<Fence> older = checkElsewhere(33, Connection.TRANSACTION_READ_COMMITTED);
            awaitAWaiter();
            newer.rollback();
            assertThat(older.get(60, TimeUnit.SECONDS).sequencer().token().value())
                    .isEqualTo(33);
        }
        assertThat(fenced().mark("orders/42").exclusiveToken()).isEqualTo(33);
    }

    @ParameterizedTest
    @ValueSource(ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
    void firstUserUnderASnapshotRunsAgainAfterAnother(int isolation) throws Exception {
        try (Connection older = open()) {
            fenced().check(older, grants.exclusive("orders/42", 33), ORDER, Access.WRITE);
            Future<Fence> newer = checkElsewhere(34, isolation);
            awaitAWaiter();
            older.commit();
            if (takesSnapshotBehindTheLock()) {
                newer.get(60, TimeUnit.SECONDS);
            } else {
                assertThatThrownBy(() -> newer.get(60, TimeUnit.SECONDS))
                        .as("its snapshot is older than what the other wrote")
                        .hasCauseInstanceOf(SQLTransactionRollbackException.class);
            }
        }
        checkElsewhere(34, isolation).get(60, TimeUnit.SECONDS);
        assertThat(fenced().mark("orders/42").exclusiveToken()).isEqualTo(34);
    }

    @Test
    void waitForAnotherFirstUserIsBounded() throws SQLException {
        try (Connection first = open();
                Connection second = open()) {
            fenced().check(first, grants.exclusive("orders/42", 33), ORDER, Access.WRITE);
            assertThatThrownBy(() -> fenced().withLockWait(Duration.ofMillis(100))
                            .check(second, grants.exclusive("orders/42", 34), ORDER, Access.WRITE))
                    .isInstanceOfSatisfying(
                            RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.DRAINING));
            second.rollback();
            first.rollback();
        }
    }

    /** PostgreSQL finds the deadlock, H2 waits until the lock wait is over; neither applies both. */
    @Test
    void firstUsesInCrossedOrderEndInARefusal() throws Exception {
        FencedJdbc impatient = fenced().withLockWait(Duration.ofSeconds(3));
        Binding other = Binding.of("orders/43");
        try (Connection mine = open();
                Connection theirs = open()) {
            impatient.check(mine, grants.exclusive("orders/42", 1), ORDER, Access.WRITE);
            impatient.check(theirs, grants.exclusive("orders/43", 2), other, Access.WRITE);
            Future<Boolean> refused = threads.submit(() -> isRefused(
                    () -> {
                        impatient.check(theirs, grants.exclusive("orders/42", 2), ORDER, Access.WRITE);
                        theirs.commit();
                        return true;
                    },
                    theirs));
            awaitAWaiter();
            boolean mineRefused = isRefused(
                    () -> {
                        impatient.check(mine, grants.exclusive("orders/43", 1), other, Access.WRITE);
                        mine.commit();
                        return true;
                    },
                    mine);
            assertThat(mineRefused || refused.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    private static boolean isRefused(Callable<?> call, Connection connection) throws Exception {
        try {
            call.call();
            return false;
        } catch (SQLTransactionRollbackException | RejectedException e) {
            connection.rollback();
            return true;
        }
    }

    private Future<Fence> checkElsewhere(long token, int isolation) {
        return threads.submit(() -> {
            try (Connection connection = open()) {
                connection.setTransactionIsolation(isolation);
                try {
                    Fence fence = fenced().check(connection, grants.exclusive("orders/42", token), ORDER, Access.WRITE);
                    connection.commit();
                    return fence;
                } finally {
                    connection.rollback();
                    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
                }
            }
        });
    }

    private HikariDataSource pool(int connections) {
        HikariConfig config = new HikariConfig();
        config.setDataSource(dataSource);
        config.setMaximumPoolSize(connections);
        config.setConnectionTimeout(Duration.ofSeconds(10).toMillis());
        return new HikariDataSource(config);
    }

    private void awaitAWaiter() {
        await().until(() -> {
            try (Connection connection = dataSource.getConnection()) {
                return FencedJdbcContract.number(connection, waitersSql()) > 0;
            }
        });
    }

    final Connection open() throws SQLException {
        Connection connection = dataSource.getConnection();
        connection.setAutoCommit(false);
        return connection;
    }
}
