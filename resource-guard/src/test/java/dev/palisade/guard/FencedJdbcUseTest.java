package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.grants.Grants;
import dev.palisade.guard.FencedJdbc.Work;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How {@link FencedJdbc} runs work, refuses misuse, counts and logs, on any one database. */
class FencedJdbcUseTest {
    private static final Binding ORDER = Binding.of("orders/42");

    private final Grants grants = new Grants();
    private final List<String> lines = new ArrayList<>();
    private final JdbcDataSource dataSource = new JdbcDataSource();
    private final FencedJdbc fenced = create();

    private FencedJdbc create() {
        dataSource.setURL("jdbc:h2:mem:use;DB_CLOSE_DELAY=-1");
        try {
            return FencedJdbc.create(dataSource, grants.verifier(), lines::add);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeEach
    void freshTables() throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS palisade_fence");
        }
        fenced.createTable();
    }

    @Test
    void workThatNeverUsedItsConnectionIsRefused() throws SQLException {
        for (Work<Integer> work : List.<Work<Integer>>of(
                connection -> 0, connection -> connection.getAutoCommit() ? 0 : 1, connection -> elsewhere())) {
            for (Access access : Access.values()) {
                assertThatThrownBy(() -> {
                            if (access == Access.WRITE) {
                                fenced.write(grants.exclusive("orders/42", 34), ORDER, work);
                            } else {
                                fenced.read(grants.exclusive("orders/42", 34), ORDER, work);
                            }
                        })
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("'orders/42' never used its connection")
                        .hasMessageContaining("FencedJdbc.check")
                        .hasMessageNotContaining("\n");
            }
        }
        assertThat(fenced.mark("orders/42")).isEqualTo(Mark.NONE);
    }

    private int elsewhere() throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            return one(connection);
        }
    }

    @Test
    void driversOwnConnectionCountsAsUsed() throws SQLException {
        assertThat(fenced.<Integer>write(
                        grants.exclusive("orders/42", 34),
                        ORDER,
                        connection -> one(connection.unwrap(Connection.class))))
                .isEqualTo(1);
    }

    @Test
    void workWithoutRetriesRunsOnce() throws SQLException {
        AtomicInteger runs = new AtomicInteger();
        Work<Integer> work = connection -> {
            runs.incrementAndGet();
            one(connection);
            throw new SQLTransactionRollbackException("serialization failure", "40001");
        };
        assertThatThrownBy(() -> fenced.withoutRetries().write(grants.exclusive("orders/42", 34), ORDER, work))
                .isInstanceOf(SQLTransactionRollbackException.class);
        assertThat(runs).hasValue(1);
        assertThat(fenced.mark("orders/42")).isEqualTo(Mark.NONE);
        refused(() -> fenced.write(grants.exclusive("orders/42", 34), ORDER, work), Reason.DRAINING);
        assertThat(runs).hasValue(1 + FencedJdbc.RUNS_MAX);
    }

    @Test
    void admittedAndRefusedCallsAreCountedOnce() throws SQLException {
        FencedJdbc copy = fenced.withLockWait(Duration.ofSeconds(1)).withoutRetries();
        fenced.write(grants.exclusive("orders/42", 34), ORDER, FencedJdbcUseTest::one);
        copy.read(grants.exclusive("orders/42", 34), ORDER, FencedJdbcUseTest::one);
        refused(() -> copy.claim(grants.exclusive("orders/42", 33), ORDER), Reason.TOKEN_STALE);
        refused(() -> copy.claim(new Grants().exclusive("orders/42", 35), ORDER), Reason.SEQUENCER_INVALID);
        try (Connection mine = dataSource.getConnection()) {
            mine.setAutoCommit(false);
            fenced.check(mine, grants.exclusive("orders/42", 35), ORDER, Access.WRITE);
            refused(
                    () -> fenced.withLockWait(Duration.ofMillis(1)).claim(grants.exclusive("orders/42", 36), ORDER),
                    Reason.DRAINING);
            mine.rollback();
            refused(
                    () -> fenced.check(mine, grants.exclusive("orders/42", 33), ORDER, Access.WRITE),
                    Reason.TOKEN_STALE);
            mine.rollback();
        }
        assertThat(fenced.stats().admitted()).isEqualTo(3);
        assertThat(fenced.stats().refused())
                .isEqualTo(Map.of(Reason.TOKEN_STALE, 2L, Reason.SEQUENCER_INVALID, 1L, Reason.DRAINING, 1L));
        assertThat(fenced.stats().waiting()).isZero();
        assertThat(fenced.stats()).isEqualTo(copy.stats());
    }

    @Test
    void repeatedRunsOfOneCallAreAdmittedOnce() throws SQLException {
        AtomicInteger runs = new AtomicInteger();
        fenced.write(grants.exclusive("orders/42", 34), ORDER, connection -> {
            if (runs.incrementAndGet() < 3) {
                throw new SQLTransactionRollbackException("serialization failure", "40001");
            }
            return one(connection);
        });
        assertThat(fenced.stats().admitted()).isEqualTo(1);
        assertThat(fenced.stats().refused()).isEmpty();
    }

    @Test
    void refusalsAreLoggedAsByAGuard() throws SQLException {
        fenced.claim(grants.exclusive("orders/42", 34), ORDER);
        assertThat(lines).as("what is admitted is not logged").isEmpty();
        refused(() -> fenced.claim(grants.exclusive("orders/42", 33), ORDER), Reason.TOKEN_STALE);
        assertThat(lines)
                .singleElement()
                .asString()
                .startsWith("event=refused reason=TOKEN_STALE lock=orders/42 resource=orders/42 presented_token=33"
                        + " mark_token=34 mark_grant=")
                .contains(" superseded_at_millis=");
        refused(() -> fenced.withoutEvents().claim(grants.exclusive("orders/42", 33), ORDER), Reason.TOKEN_STALE);
        assertThat(lines).hasSize(1);
        assertThat(fenced.stats().refused())
                .as("a fence without events counts on its own")
                .isEqualTo(Map.of(Reason.TOKEN_STALE, 1L));
    }

    @Test
    void lostCheckIsLoggedByWhicheverCallFindsIt() throws SQLException {
        try (Connection mine = dataSource.getConnection()) {
            mine.setAutoCommit(false);
            Fence fence = fenced.check(mine, grants.exclusive("orders/42", 34), ORDER, Access.WRITE);
            mine.rollback();
            refused(() -> fence.confirm(mine), Reason.OUTCOME_UNKNOWN);
        }
        assertThat(lines).singleElement().asString().startsWith("event=refused reason=OUTCOME_UNKNOWN");
    }

    /** It is another guard's refusal, told there; this one admitted the call. */
    @Test
    void rejectionThatWorkPassesOnIsNotThisGuards() {
        refused(
                () -> fenced.write(grants.exclusive("orders/42", 34), ORDER, connection -> {
                    throw new Rejection(Reason.TOKEN_STALE, "refused elsewhere").asException();
                }),
                Reason.TOKEN_STALE);
        assertThat(lines).isEmpty();
        assertThat(fenced.stats().refused()).isEmpty();
    }

    private static int one(Connection connection) throws SQLException {
        return (int) FencedJdbcContract.number(connection, "SELECT 1");
    }

    private static void refused(ThrowingCallable call, Reason reason) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason));
    }
}
