package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.grants.Grants;
import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** On a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@NullUnmarked
class FencedJdbcOnPostgresTest extends FencedJdbcContract {
    private static EmbeddedPostgres postgres;

    @BeforeAll
    static void start() throws IOException {
        postgres = PatientPostgres.builder().start();
    }

    @AfterAll
    static void stop() throws IOException {
        postgres.close();
    }

    @Override
    DataSource dataSource() {
        return postgres.getPostgresDatabase();
    }

    @Override
    String waitersSql() {
        return "SELECT COUNT(*) FROM pg_locks WHERE NOT granted";
    }

    @Override
    String lockWait(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW lock_timeout")) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void aConnectionThatDiesBeforeTheCommitIsNotApplied() throws SQLException {
        Grants grants = new Grants();
        FencedJdbc fenced = FencedJdbc.create(dataSource(), grants.verifier());
        Binding binding = Binding.of("dies");
        fenced.claim(grants.exclusive("dies", 33), binding);
        assertThatThrownBy(() -> fenced.write(
                        grants.exclusive("dies", 34),
                        binding,
                        connection -> number(connection, "SELECT pg_terminate_backend(pg_backend_pid())::int")))
                .isInstanceOfSatisfying(RejectedException.class, e -> {
                    assertThat(e.reason()).isEqualTo(Reason.STORE_UNAVAILABLE);
                    assertThat(e.rejection().metadata()).containsEntry(Rejection.APPLIED, "no");
                });
        assertThat(fenced.mark("dies").exclusiveToken()).isEqualTo(33);
    }

    /** Readers of one token overlap without an end, each of them briefly. */
    @Test
    void aWriterAmongOverlappingReadersGetsIn() throws Exception {
        Grants grants = new Grants();
        FencedJdbc fenced = FencedJdbc.create(dataSource(), grants.verifier());
        Binding binding = Binding.of("overlap");
        fenced.claim(grants.shared("overlap", 5), binding);
        whileReadersOverlap(
                () -> fenced.read(
                        grants.shared("overlap", 5),
                        binding,
                        connection -> number(connection, "SELECT 1 FROM pg_sleep(0.1)")),
                () -> assertThat(fenced.claim(grants.exclusive("overlap", 6), binding)
                                .exclusiveToken())
                        .isEqualTo(6));
    }

    /** Readers that do not queue, as those of a guard of an earlier version: the wait is for all of them, not for each. */
    @Test
    void aWriterAmongReadersThatDoNotQueueWaitsNoLongerThanItMay() throws Exception {
        Grants grants = new Grants();
        FencedJdbc fenced = FencedJdbc.create(dataSource(), grants.verifier());
        Binding binding = Binding.of("overlap");
        fenced.claim(grants.shared("overlap", 5), binding);
        FencedJdbc impatient = fenced.withLockWait(Duration.ofMillis(500));
        whileReadersOverlap(
                () -> {
                    try (Connection connection = open()) {
                        number(connection, "SELECT 1 FROM palisade_fence WHERE resource = 'overlap' FOR SHARE");
                        number(connection, "SELECT 1 FROM pg_sleep(0.1)");
                        connection.rollback();
                    }
                },
                () -> assertThat(CompletableFuture.supplyAsync(() -> {
                            try {
                                impatient.claim(grants.exclusive("overlap", 6), binding);
                                return true;
                            } catch (RejectedException e) {
                                return e.reason() == Reason.DRAINING;
                            } catch (SQLException e) {
                                return false;
                            }
                        }))
                        .succeedsWithin(Duration.ofSeconds(5))
                        .isEqualTo(true));
    }

    private interface Call {
        void run() throws SQLException;
    }

    private static void whileReadersOverlap(Call read, Call write) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        CountDownLatch running = new CountDownLatch(16);
        ExecutorService readers = Executors.newFixedThreadPool(8);
        try {
            for (int i = 0; i < 8; i++) {
                readers.execute(() -> {
                    while (!stop.get()) {
                        try {
                            read.run();
                            running.countDown();
                        } catch (SQLException | RejectedException e) {
                            return; // The writer got in.
                        }
                    }
                });
            }
            assertThat(running.await(60, TimeUnit.SECONDS)).isTrue();
            write.run();
        } finally {
            stop.set(true);
            readers.shutdown();
            assertThat(readers.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
        }
    }
}
