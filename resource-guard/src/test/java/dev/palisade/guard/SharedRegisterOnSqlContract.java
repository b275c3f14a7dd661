package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import dev.palisade.contract.RejectedException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The register in a database, on every one that can hold it. */
@NullUnmarked
abstract class SharedRegisterOnSqlContract extends SharedRegisterContract {
    private static final int CONNECTIONS = 15;

    private final List<HikariDataSource> pools = new ArrayList<>();

    abstract DataSource database();

    @Override
    void createNeverUsed() {
        MarkStore.createNeverUsed(database());
    }

    @Override
    void empty() {
        MarkStore.createTables(database());
        for (String table : List.of(
                "register_calls",
                "register_guards",
                "register",
                "marks",
                "mark_bases",
                "mark_registrations",
                "marks_owner")) {
            execute("DELETE FROM palisade_" + table);
        }
    }

    @AfterEach
    void closePools() {
        pools.forEach(HikariDataSource::close);
    }

    private DataSource pool() {
        if (pools.isEmpty()) {
            HikariDataSource pool = new HikariDataSource();
            pool.setDataSource(database());
            pool.setMaximumPoolSize(CONNECTIONS);
            pools.add(pool);
        }
        return pools.get(0);
    }

    @Override
    MarkStore store(Duration lease) {
        return MarkStore.shared(database(), lease);
    }

    @Override
    MarkStore fastStore() {
        return MarkStore.shared(pool(), MarkStore.SHARED_LEASE_DEFAULT, pool());
    }

    @Override
    MarkStore brokenStore(Random random) {
        return MarkStore.shared(BrokenCommits.of(pool(), random), Duration.ofMinutes(5));
    }

    @Override
    Doubts doubts() {
        DoubtfulCommits commits = new DoubtfulCommits(database());
        return new Doubts() {
            @Override
            public MarkStore store(Duration lease) {
                return MarkStore.shared(commits.dataSource(), lease);
            }

            @Override
            public void takeEffect(@Nullable Boolean effect) {
                commits.takeEffect = effect;
            }

            @Override
            public void breakTheNextWrite() {
                commits.spared.set(1); // It reads the registration before it keeps one.
                commits.takeEffect = true;
            }
        };
    }

    @Override
    Failures failures() {
        FailingSource failing = new FailingSource(database());
        return new Failures() {
            @Override
            public MarkStore store(Duration lease) {
                return MarkStore.shared(failing.dataSource(), lease);
            }

            @Override
            public void failWith(@Nullable Throwable failure) {
                failing.failure = failure;
            }

            @Override
            public AtomicInteger count() {
                return failing.failures;
            }
        };
    }

    @Override
    long calls() {
        return number("SELECT COUNT(*) FROM palisade_register_calls");
    }

    @Override
    long quarantinedCalls() {
        return number("SELECT COUNT(*) FROM palisade_register_calls WHERE quarantined");
    }

    @Override
    long highestMark() {
        return number("SELECT MAX(x_token) FROM palisade_marks");
    }

    @Override
    long highestSharedMark() {
        return number("SELECT MAX(s_token) FROM palisade_marks");
    }

    @Override
    long epoch() {
        return number("SELECT epoch FROM palisade_register");
    }

    @Override
    long settledEpoch() {
        return number("SELECT settled FROM palisade_register");
    }

    @Override
    long registration() {
        return number("SELECT COALESCE(MAX(token), -1) FROM palisade_mark_registrations");
    }

    @Override
    void endGuard(String id) {
        execute("DELETE FROM palisade_register_guards WHERE id = '" + id + "'");
    }

    @Override
    void endAllGuards() {
        execute("DELETE FROM palisade_register_guards");
    }

    @Override
    void setLease(long millis) {
        execute("UPDATE palisade_register_guards SET lease_millis = " + millis);
    }

    @Override
    void setDeltaToZero() {
        execute("UPDATE palisade_register SET delta_millis = 0");
    }

    @Override
    void assertThatTheGuideListsIt(String guard) {
        assertThat(number("SELECT MAX(calls) FROM (SELECT g.id, g.owner, g.renewed_at_millis, COUNT(c.guard) AS calls"
                        + " FROM palisade_register_guards g LEFT JOIN palisade_register_calls c ON c.guard = g.id"
                        + " GROUP BY g.id, g.owner, g.renewed_at_millis) listed"))
                .isEqualTo(1);
    }

    @Override
    String guardOfOnlyCall() {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT guard FROM palisade_register_calls")) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    final long number(String sql) {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new AssertionError(sql, e);
        }
    }

    final void execute(String sql) {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new AssertionError(sql, e);
        }
    }

    @Test
    void poolOfOneConnectionIsEnough() {
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setDataSource(database());
            pool.setMaximumPoolSize(1);
            Guard guard = builder(MarkStore.shared(pool)).build();
            Admission old = admitted(write(guard, 33));
            CompletableFuture<Admission> next = write(guard, 34);
            awaitMark(34);
            old.close();
            admitted(next).close();
            guard.close();
        }
    }

    @Test
    void guardWithMarksOfItsOwnIsRefusedOnTheTablesOfARegister() {
        guard();
        assertThatThrownBy(() -> builder(MarkStore.jdbc(database())).build())
                .isInstanceOfSatisfying(
                        RejectedException.class,
                        e -> assertThat(e.rejection().message())
                                .contains("MarkStore.shared")
                                .hasLineCount(1));
    }

    @Test
    void registerIsRefusedOnTheTablesOfAGuardThatDidNotCloseInOrder() {
        execute("UPDATE palisade_marks_owner SET closed_in_order = FALSE");
        assertThatThrownBy(this::guard)
                .isInstanceOfSatisfying(
                        RejectedException.class,
                        e -> assertThat(e.rejection().message())
                                .contains("a guard with marks of its own")
                                .hasLineCount(1));
    }

    @Test
    void unknownEndIsNotAnnouncedBeforeEveryGuardKnowsOfIt() throws Exception {
        Admission lost = admitted(write(guard(), 33));
        CompletableFuture<Void> announced;
        try (Connection locking = database().getConnection();
                Statement statement = locking.createStatement()) {
            locking.setAutoCommit(false);
            statement.execute("SELECT * FROM palisade_register_calls FOR UPDATE");
            announced = lost.outcomeUnknown().toCompletableFuture();
            assertThat(announced).isNotDone();
            locking.rollback();
        }
        assertThat(announced).succeedsWithin(WAIT);
        assertThat(number("SELECT COUNT(*) FROM palisade_register_calls WHERE quarantined"))
                .isEqualTo(1);
        assertThat(lost.outcomeUnknown()).as("said again").succeedsWithin(WAIT);
    }

    @Test
    void unknownEndIsAnnouncedWhenTheCallHasEndedAfterAll() throws Exception {
        Admission lost = admitted(write(guard(), 33));
        CompletableFuture<Void> announced;
        try (Connection locking = database().getConnection();
                Statement statement = locking.createStatement()) {
            locking.setAutoCommit(false);
            statement.execute("SELECT * FROM palisade_register_calls FOR UPDATE");
            announced = lost.outcomeUnknown().toCompletableFuture();
            lost.close();
            locking.rollback();
        }
        assertThat(announced).succeedsWithin(WAIT);
    }

    @Test
    void unknownEndIsAnnouncedAfterDeltaAtTheLatest() throws Exception {
        Guard one = opened(builder(store()).unknownOutcomeTimeout(Duration.ofMillis(50)));
        Admission lost = admitted(write(one, 33));
        try (Connection locking = database().getConnection();
                Statement statement = locking.createStatement()) {
            locking.setAutoCommit(false);
            statement.execute("SELECT * FROM palisade_register_calls FOR UPDATE");
            assertThat(lost.outcomeUnknown()).succeedsWithin(WAIT);
            locking.rollback();
        }
    }
}
