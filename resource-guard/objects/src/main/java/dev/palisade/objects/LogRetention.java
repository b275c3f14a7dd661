package dev.palisade.objects;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Retention of the applied-log by age and by size. Drops the oldest rows and never one in between, so what is left is
 * still checked as a whole. Never touches marks: {@code palisade_fence} has one row per lock, and no older mark may
 * return. Decides by the times that it is given.
 *
 * @param ageMax rows are dropped when they are older, 1 h to 87,600 h
 * @param rowsMax the oldest rows are dropped when there are more, 1,000 to 10<sup>12</sup>; numbers that were never
 *     used count as rows
 */
record LogRetention(Duration ageMax, long rowsMax) {
    /** Rows in one transaction, so that calls do not wait long. */
    static final int BATCH_ROWS = 10_000;

    /** @throws IllegalArgumentException in one line, naming the setting */
    LogRetention {
        if (ageMax.compareTo(Duration.ofHours(1)) < 0 || ageMax.compareTo(Duration.ofHours(87_600)) > 0) {
            throw new IllegalArgumentException(
                    "--log-age-max is " + ageMax.toMinutes() + "m; use 1h to 87600h, as in 720h");
        }
        if (rowsMax < 1_000 || rowsMax > 1_000_000_000_000L) {
            throw new IllegalArgumentException("--log-rows-max is " + rowsMax + "; use 1000 to 1000000000000");
        }
    }

    /**
     * What was dropped so far.
     *
     * @param rows how many
     * @param lastSeq the newest of them
     * @param lastAt when that was applied, as the log shows it
     */
    record Dropped(long rows, long lastSeq, String lastAt) {
        static final String SETTING = "log-dropped";
        static final Dropped NONE = new Dropped(0, 0, "-");

        static Dropped parse(String setting) {
            String[] words = setting.split(" ", 3);
            return new Dropped(Long.parseLong(words[0]), Long.parseLong(words[1]), words[2]);
        }

        @Override
        public String toString() {
            return rows + " " + lastSeq + " " + lastAt;
        }

        /** Empty: this database is of a release that dropped nothing. */
        static Optional<Dropped> read(Connection connection, boolean forUpdate) throws SQLException {
            try (PreparedStatement select = connection.prepareStatement(
                    "SELECT setting FROM palisade_objects_setting WHERE name = ?" + (forUpdate ? " FOR UPDATE" : ""))) {
                select.setString(1, SETTING);
                try (ResultSet row = select.executeQuery()) {
                    return row.next() ? Optional.of(parse(row.getString(1))) : Optional.empty();
                }
            }
        }
    }

    /**
     * Drops up to {@link #BATCH_ROWS} rows, and records that in the same transaction. Ends no transaction.
     *
     * @return how many numbers it went past; as many as a batch has: there may be more
     */
    long drop(Connection connection, Instant now) throws SQLException {
        // Held to the end of the transaction, so two stores on one database do not count a row twice.
        Optional<Dropped> before = Dropped.read(connection, true);
        OptionalLong first = seq(connection, "SELECT MIN(seq) FROM applied", null);
        OptionalLong newest = seq(connection, "SELECT MAX(seq) FROM applied", null);
        if (before.isEmpty() || first.isEmpty() || newest.isEmpty()) {
            return 0;
        }
        long lastOfBatch = first.getAsLong() + BATCH_ROWS - 1;
        long upTo = Math.min(lastOfBatch, lastToDrop(connection, newest.getAsLong(), now));
        if (upTo < first.getAsLong()) {
            return 0;
        }
        String lastAt = appliedAt(connection, upTo);
        try (PreparedStatement delete = connection.prepareStatement("DELETE FROM applied WHERE seq <= ?")) {
            delete.setLong(1, upTo);
            long rows = before.get().rows() + delete.executeUpdate();
            Schema.set(connection, Dropped.SETTING, new Dropped(rows, upTo, lastAt).toString());
        }
        return upTo - first.getAsLong() + 1;
    }

    private long lastToDrop(Connection connection, long newest, Instant now) throws SQLException {
        OptionalLong firstYoung = seq(
                connection,
                "SELECT seq FROM applied WHERE applied_at >= ? ORDER BY seq FETCH FIRST 1 ROWS ONLY",
                OffsetDateTime.ofInstant(now.minus(ageMax), ZoneOffset.UTC));
        long byAge = firstYoung.isPresent() ? firstYoung.getAsLong() - 1 : newest;
        return Math.max(byAge, newest - rowsMax);
    }

    private static OptionalLong seq(Connection connection, String sql, @Nullable OffsetDateTime since)
            throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            if (since != null) {
                select.setObject(1, since);
            }
            try (ResultSet row = select.executeQuery()) {
                return row.next() && row.getObject(1) != null ? OptionalLong.of(row.getLong(1)) : OptionalLong.empty();
            }
        }
    }

    private static String appliedAt(Connection connection, long upTo) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT applied_at FROM applied WHERE seq <= " + upTo
                        + " ORDER BY seq DESC FETCH FIRST 1 ROWS ONLY")) {
            return row.next() ? row.getString(1) : "-";
        }
    }
}
