package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.grants.Grants;
import dev.palisade.guard.Binding;
import dev.palisade.guard.FencedJdbc;
import dev.palisade.guard.Mark;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is left of the applied-log at given times, on any database it may be given. */
abstract class LogRetentionContract {
    private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
    private static final LogRetention DAY = new LogRetention(Duration.ofHours(24), 1_000);

    private final Grants grants = new Grants();
    private DataSource pool = dataSource();

    abstract DataSource dataSource();

    @BeforeEach
    void create() throws SQLException {
        pool = dataSource();
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (String table : List.of("palisade_fence", "objects", "applied", "palisade_objects_setting")) {
                statement.execute("DROP TABLE IF EXISTS " + table);
            }
            Schema.create(connection);
        }
    }

    @Test
    void rowsOlderThanTheAgeAreDropped() throws SQLException {
        append(1, 0);
        append(2, 10);
        append(3, 20);
        assertThat(dropAt(DAY, 24)).as("exactly as old as allowed").isZero();
        assertThat(numbers()).containsExactly(1L, 2L, 3L);
        assertThat(dropped().rows()).isZero();
        assertThat(dropAt(DAY, 25)).isEqualTo(1);
        assertThat(numbers()).containsExactly(2L, 3L);
        assertThat(dropped().rows()).isEqualTo(1);
        assertThat(dropped().lastSeq()).isEqualTo(1);
        assertThat(dropped().lastAt()).contains("2026-01-01");
        assertThat(dropAt(DAY, 35)).isEqualTo(1);
        assertThat(dropAt(DAY, 100)).isEqualTo(1);
        assertThat(numbers()).isEmpty();
        assertThat(dropAt(DAY, 1_000)).as("nothing is left to drop").isZero();
        assertThat(dropped().rows()).isEqualTo(3);
    }

    @Test
    void oldestRowsAreDroppedWhenThereAreTooMany() throws SQLException {
        append(IntStream.rangeClosed(1, 1_003).asLongStream().toArray(), 0);
        assertThat(dropAt(DAY, 0)).isEqualTo(3);
        assertThat(numbers()).hasSize(1_000).startsWith(4L).endsWith(1_003L);
        assertThat(dropAt(DAY, 0)).isZero();
    }

    /** A row in between that is older, as clocks go, is not dropped before its predecessors. */
    @Test
    void onlyTheOldestRowsAreDroppedAndNoneInBetween() throws SQLException {
        append(1, 20);
        append(2, 0);
        append(3, 20);
        assertThat(dropAt(DAY, 30)).isZero();
        assertThat(numbers()).containsExactly(1L, 2L, 3L);
    }

    @Test
    void oneTransactionDropsOneBatch() throws SQLException {
        append(1, 0);
        append(LogRetention.BATCH_ROWS, 0);
        append(LogRetention.BATCH_ROWS + 1L, 0);
        append(LogRetention.BATCH_ROWS + 2L, 30);
        assertThat(dropAt(DAY, 30)).isEqualTo(LogRetention.BATCH_ROWS);
        assertThat(numbers()).containsExactly(LogRetention.BATCH_ROWS + 1L, LogRetention.BATCH_ROWS + 2L);
        assertThat(dropped().rows()).isEqualTo(2);
        new LogCleanup(pool, DAY).run(START.plus(Duration.ofHours(30)));
        assertThat(numbers()).containsExactly(LogRetention.BATCH_ROWS + 2L);
        assertThat(dropped().rows()).isEqualTo(3);
    }

    @Test
    void cleanupRunsAllBatches() throws SQLException {
        append(1, 0);
        append(LogRetention.BATCH_ROWS * 3L, 0);
        new LogCleanup(pool, DAY).run(START.plus(Duration.ofHours(30)));
        assertThat(numbers()).isEmpty();
        assertThat(dropped().rows()).isEqualTo(2);
        assertThat(dropped().lastSeq()).isEqualTo(LogRetention.BATCH_ROWS * 3L);
    }

    @Test
    void rowsAndTheirCountAreDroppedInOneTransaction() throws SQLException {
        append(1, 0);
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            assertThat(DAY.drop(connection, START.plus(Duration.ofHours(30)))).isEqualTo(1);
            connection.rollback();
            connection.setAutoCommit(true);
        }
        assertThat(numbers()).containsExactly(1L);
        assertThat(dropped()).isEqualTo(LogRetention.Dropped.NONE);
    }

    @Test
    void formerHolderIsRefusedWhateverWasDropped() throws SQLException {
        FencedJdbc fenced = FencedJdbc.create(pool, grants.verifier());
        fenced.createTable();
        Binding lock = Binding.of("a");
        fenced.write(grants.exclusive("a", 34), lock, connection -> {
            AppliedLog.append(connection, "a", AppliedLog.Operation.PUT, "a", null, 1, new byte[0]);
            return 0;
        });
        dropAt(DAY, 24 * 365 * 10);
        assertThat(numbers()).isEmpty();
        assertThat(fenced.mark("a").exclusiveToken()).isEqualTo(34);
        assertThat(fenced.mark("a")).isNotEqualTo(Mark.NONE);
        assertThatThrownBy(() -> fenced.write(grants.exclusive("a", 33), lock, connection -> {
                    AppliedLog.append(connection, "a", AppliedLog.Operation.PUT, "a", null, 2, new byte[0]);
                    return 0;
                }))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
        assertThat(numbers()).isEmpty();
    }

    @Test
    void databaseOfAnOlderReleaseIsTaken() throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("DELETE FROM palisade_objects_setting");
            assertThat(LogRetention.Dropped.read(connection, false)).isEmpty();
            Schema.create(connection);
            Schema.create(connection);
            assertThat(LogRetention.Dropped.read(connection, false)).contains(LogRetention.Dropped.NONE);
        }
    }

    private void append(long seq, int hour) throws SQLException {
        append(new long[] {seq}, hour);
    }

    private void append(long[] numbers, int hour) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO applied (seq, applied_at, resource, operation, object_key, mode, token,"
                                + " grant_id, version, size_bytes, sha256)"
                                + " VALUES (?, ?, 'a', 'PUT', 'a', '', 0, '', 1, 0, '')")) {
            for (long seq : numbers) {
                insert.setLong(1, seq);
                insert.setObject(2, OffsetDateTime.ofInstant(START.plus(Duration.ofHours(hour)), ZoneOffset.UTC));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private long dropAt(LogRetention retention, int hour) throws SQLException {
        return PlainTransaction.run(pool, connection -> retention.drop(connection, START.plus(Duration.ofHours(hour))));
    }

    private List<Long> numbers() throws SQLException {
        List<Long> numbers = new ArrayList<>();
        try (Connection connection = pool.getConnection()) {
            AppliedLog.readAll(connection, row -> numbers.add(row.seq()));
        }
        return numbers;
    }

    private LogRetention.Dropped dropped() throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return LogRetention.Dropped.read(connection, false).orElseThrow();
        }
    }
}
