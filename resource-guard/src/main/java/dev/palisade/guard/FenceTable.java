package dev.palisade.guard;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The statements on {@code palisade_fence}: {@link Mark#judge} in SQL, so that comparing and raising is one statement that
 * the database orders. Never commits, never rolls back.
 */
final class FenceTable {
    /** What a row must be to admit an EXCLUSIVE call, and a SHARED one. */
    private static final String ADMITS_EXCLUSIVE = "s_token < ? AND (x_token < ? OR (x_token = ? AND x_grant = ?))";

    private static final String ADMITS_SHARED = "x_token < ?";

    private static final String SHARED_STANDS =
            "SELECT n FROM palisade_fence WHERE resource = ? AND x_token < ? AND s_token >= ?";
    private static final String EXCLUSIVE_STANDS = "SELECT n FROM palisade_fence "
            + "WHERE resource = ? AND x_token = ? AND x_grant = ? AND s_token < ? FOR UPDATE";
    private static final String READ = "SELECT x_token, x_grant, s_token, x_raised_at_millis, s_raised_at_millis"
            + " FROM palisade_fence WHERE resource = ?";

    private static final String NUMBER = "SELECT n FROM palisade_fence WHERE resource = ?";

    private static final String DUPLICATE_KEY = "23505";
    /** MySQL's error code. */
    private static final int DUPLICATE_COLUMN = 1060;

    /** In place of a row's number. A row has its number from its first raise on, and none admits before that. */
    static final long REFUSED = -1;

    private final SqlDialect dialect;
    private final String raiseExclusive;
    private final String raiseShared;
    private final String insertExclusive;
    private final String insertShared;
    private final String insertOrShare;

    FenceTable(SqlDialect dialect) {
        this.dialect = dialect;
        // The times stay as they are when a grant comes again: they tell when its token was first seen.
        // And before the tokens: MySQL takes what stands to the left for the old value.
        this.raiseExclusive = "UPDATE palisade_fence SET x_raised_at_millis = CASE WHEN x_token < ? THEN "
                + dialect.nowMillis() + " ELSE x_raised_at_millis END, x_token = ?, x_grant = ?, n = ?"
                + " WHERE resource = ? AND " + ADMITS_EXCLUSIVE;
        this.raiseShared = "UPDATE palisade_fence SET s_raised_at_millis = CASE WHEN s_token < ? THEN "
                + dialect.nowMillis() + " ELSE s_raised_at_millis END, s_token = GREATEST(s_token, ?), n = ?"
                + " WHERE resource = ? AND " + ADMITS_SHARED;
        this.insertExclusive = dialect.insertUnlessPresent(
                "palisade_fence",
                "(resource, x_token, n, x_grant, x_raised_at_millis) VALUES (?, ?, ?, ?, " + dialect.nowMillis() + ")");
        String shared = "(resource, s_token, n, s_raised_at_millis) VALUES (?, ?, ?, " + dialect.nowMillis() + ")";
        this.insertShared = dialect.insertUnlessPresent("palisade_fence", shared);
        this.insertOrShare = dialect.insertOrShare(shared);
    }

    /** A mark and when its tokens were first admitted, milliseconds since 1970 by the database's clock; 0: not known. */
    record Row(Mark mark, long exclusiveAtMillis, long sharedAtMillis) {}

    /**
     * Compares and raises.
     *
     * @param mayStand whether to look first for a SHARED token that needs no raise
     * @return the number that the row has now, never 0; {@link #REFUSED}: refused, or there is no row, nothing was changed
     */
    long raise(Connection connection, String resource, Sequencer sequencer, boolean mayStand) throws SQLException {
        if (sequencer.mode() == Mode.SHARED) {
            long standing = mayStand ? standing(connection, resource, sequencer) : REFUSED;
            return standing == REFUSED ? raiseShared(connection, resource, sequencer) : standing;
        }
        long token = sequencer.token().value();
        String grant = sequencer.grant().toString();
        long number = freshNumber();
        try (PreparedStatement update = connection.prepareStatement(raiseExclusive)) {
            update.setLong(1, token);
            update.setLong(2, token);
            update.setString(3, grant);
            update.setLong(4, number);
            dialect.bindResource(update, 5, resource);
            bindAdmits(update, 6, sequencer);
            return update.executeUpdate() == 1 ? number : REFUSED;
        }
    }

    private long raiseShared(Connection connection, String resource, Sequencer sequencer) throws SQLException {
        long token = sequencer.token().value();
        long number = freshNumber();
        try (PreparedStatement update = connection.prepareStatement(raiseShared)) {
            update.setLong(1, token);
            update.setLong(2, token);
            update.setLong(3, number);
            dialect.bindResource(update, 4, resource);
            update.setLong(5, token);
            return update.executeUpdate() == 1 ? number : REFUSED;
        }
    }

    private static void bindAdmits(PreparedStatement statement, int from, Sequencer sequencer) throws SQLException {
        long token = sequencer.token().value();
        statement.setLong(from, token);
        if (sequencer.mode() == Mode.EXCLUSIVE) {
            statement.setLong(from + 1, token);
            statement.setLong(from + 2, token);
            statement.setString(from + 3, sequencer.grant().toString());
        }
    }

    /**
     * Waits in line for the row, until the transaction ends. Not with a token that is stale already: it would wait to be refused,
     * and others would wait for it.
     */
    void queue(Connection connection, String resource, Sequencer sequencer) throws SQLException {
        String queue = dialect.queue(sequencer.mode());
        if (queue.isEmpty()) {
            return;
        }
        String admits = sequencer.mode() == Mode.SHARED ? ADMITS_SHARED : ADMITS_EXCLUSIVE;
        try (PreparedStatement select = connection.prepareStatement(queue
                + " WHERE NOT EXISTS (SELECT 1 FROM palisade_fence WHERE resource = ? AND NOT (" + admits + "))")) {
            dialect.bindResource(select, 1, resource);
            dialect.bindResource(select, 2, resource);
            bindAdmits(select, 3, sequencer);
            select.execute();
        }
    }

    /** By chance, so that no statement is needed to read it back. */
    private static long freshNumber() {
        return ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    }

    /**
     * Whether the mark, held against other writers by this transaction, still admits {@code sequencer} unraised.
     *
     * @return the number of the row; {@link #REFUSED} when it does not
     */
    long standing(Connection connection, String resource, Sequencer sequencer) throws SQLException {
        boolean shared = sequencer.mode() == Mode.SHARED;
        String sql =
                shared ? SHARED_STANDS + dialect.shareLock(connection.getTransactionIsolation()) : EXCLUSIVE_STANDS;
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            dialect.bindResource(select, 1, resource);
            select.setLong(2, sequencer.token().value());
            if (shared) {
                select.setLong(3, sequencer.token().value());
            } else {
                select.setString(3, sequencer.grant().toString());
                select.setLong(4, sequencer.token().value());
            }
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? row.getLong(1) : REFUSED;
            }
        }
    }

    /**
     * Whether a transaction that the caller began sees the row as it is now. Locks it first, so that a snapshot that is not
     * taken yet is taken behind the lock; inserts it raised where there is none, because a search for a row that is missing would
     * lock all its neighbours.
     */
    boolean isCurrent(Connection connection, String resource, Sequencer sequencer) throws SQLException {
        boolean shared = sequencer.mode() == Mode.SHARED;
        insert(connection, resource, sequencer, shared ? insertOrShare : insertExclusive);
        String lock = shared ? dialect.shareLock(connection.getTransactionIsolation()) : " FOR UPDATE";
        long now = number(connection, resource, NUMBER + lock);
        return now == number(connection, resource, NUMBER);
    }

    private long number(Connection connection, String resource, String sql) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            dialect.bindResource(select, 1, resource);
            try (ResultSet row = select.executeQuery()) {
                return row.next() ? row.getLong(1) : REFUSED;
            }
        }
    }

    /** The row as this transaction sees it; null: the resource has none yet. */
    @Nullable
    Row read(Connection connection, String resource) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(READ)) {
            dialect.bindResource(select, 1, resource);
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    return null;
                }
                String grant = row.getString(2);
                GrantId exclusiveGrant =
                        grant.isEmpty() ? null : GrantId.of(HexFormat.of().parseHex(grant));
                return new Row(
                        new Mark(row.getLong(1), exclusiveGrant, row.getLong(3)), row.getLong(4), row.getLong(5));
            }
        }
    }

    /**
     * Inserts the raised row of a resource that has none. Waits for another transaction that inserts the same row.
     *
     * @return the number of the row; {@link #REFUSED}: there is one now, and {@link #raise} says whether it admits
     */
    long insert(Connection connection, String resource, Sequencer sequencer) throws SQLException {
        boolean shared = sequencer.mode() == Mode.SHARED;
        return insert(connection, resource, sequencer, shared ? insertShared : insertExclusive);
    }

    private long insert(Connection connection, String resource, Sequencer sequencer, String sql) throws SQLException {
        boolean shared = sequencer.mode() == Mode.SHARED;
        long number = freshNumber();
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            dialect.bindResource(insert, 1, resource);
            insert.setLong(2, sequencer.token().value());
            insert.setLong(3, number);
            if (!shared) {
                insert.setString(4, sequencer.grant().toString());
            }
            return insert.executeUpdate() == 1 && dialect.countsInserts() ? number : REFUSED;
        } catch (SQLException e) {
            if (DUPLICATE_KEY.equals(e.getSQLState())) {
                return REFUSED;
            }
            throw e;
        }
    }

    /** Creates the table, or adds the columns that an older one lacks. */
    void create(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(ddl());
            Set<String> present = columns(statement);
            for (String column : List.of("x_raised_at_millis", "s_raised_at_millis")) {
                // Asked first: ALTER TABLE shuts everybody out for a moment, and waits for all who are in.
                if (!present.contains(column)) {
                    addColumn(statement, column);
                }
            }
        }
        dialect.requireTable(connection);
    }

    private void addColumn(Statement statement, String column) throws SQLException {
        try {
            statement.execute(dialect.addColumn(column + " BIGINT DEFAULT 0 NOT NULL"));
        } catch (SQLException e) {
            // Another process that starts now was first, and this database has no IF NOT EXISTS for it.
            if (e.getErrorCode() != DUPLICATE_COLUMN || !columns(statement).contains(column)) {
                throw e;
            }
        }
    }

    /** Of the table that the statements meet, whatever schemas there are beside. */
    private static Set<String> columns(Statement statement) throws SQLException {
        Set<String> names = new HashSet<>();
        try (ResultSet none = statement.executeQuery("SELECT * FROM palisade_fence WHERE 1 = 0")) {
            ResultSetMetaData metaData = none.getMetaData();
            for (int i = 1; i <= metaData.getColumnCount(); i++) {
                names.add(metaData.getColumnName(i).toLowerCase(Locale.ROOT));
            }
        }
        return names;
    }

    private String ddl() {
        try (InputStream ddl = Objects.requireNonNull(FenceTable.class.getResourceAsStream(dialect.ddlResource()))) {
            return new String(ddl.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
