package dev.palisade.guard;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.guard.MarkStore.StoredMark;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The statements of a {@link SharedRegister} on one connection. Decides nothing, never commits, never rolls back; every
 * statement is bounded in time.
 */
final class RegisterTables implements RegisterRows {
    private final Connection connection;
    private final SqlDialect dialect;
    private final LeaveAnnouncements announcements;
    private final int seconds;

    /** A text of a user's, which the database must compare byte by byte. */
    private record Name(String text) {}

    RegisterTables(Connection connection, SqlDialect dialect, int seconds) {
        this(connection, dialect, seconds, LeaveAnnouncements.NONE);
    }

    RegisterTables(Connection connection, SqlDialect dialect, int seconds, LeaveAnnouncements announcements) {
        this.announcements = announcements;
        this.connection = connection;
        this.dialect = dialect;
        this.seconds = seconds;
    }

    void create() throws SQLException {
        for (String resource : dialect.registerDdl()) {
            StringBuilder ddl = new StringBuilder();
            MarkTables.ddl(resource)
                    .lines()
                    .filter(line -> !line.strip().startsWith("--"))
                    .forEach(line -> ddl.append(line).append('\n'));
            for (String statement : ddl.toString().split(";", -1)) {
                if (statement.isBlank()) {
                    continue;
                }
                try (Statement create = connection.createStatement()) {
                    create.setQueryTimeout(seconds);
                    create.execute(statement.strip());
                }
            }
        }
    }

    /** The statements on the tables that a register has in common with {@link MarkStore#jdbc}. */
    private MarkTables marks() {
        return new MarkTables(connection, seconds);
    }

    /** Makes the one row, or raises the longest &#916; in it. */
    void join(boolean settled, long deltaMillis) throws SQLException {
        if (isMade()) {
            update(
                    "UPDATE palisade_register SET delta_millis = CASE WHEN delta_millis < ? THEN ? ELSE delta_millis END,"
                            + " settled = CASE WHEN ? THEN epoch ELSE settled END WHERE id = 1",
                    deltaMillis,
                    deltaMillis,
                    settled);
        } else {
            update(
                    "INSERT INTO palisade_register (id, epoch, settled, delta_millis) VALUES (1, 0, ?, ?)",
                    settled ? 0L : -1L,
                    deltaMillis);
        }
    }

    /** Not by the count of an UPDATE: with useAffectedRows, one that changes nothing counts 0. */
    private boolean isMade() throws SQLException {
        try (PreparedStatement select = prepare("SELECT 1 FROM palisade_register WHERE id = 1");
                ResultSet row = select.executeQuery()) {
            return row.next();
        }
    }

    @Override
    public State state() throws SQLException {
        return state("", -1).state();
    }

    @Override
    public StateAndBase state(String issuer, int domain) throws SQLException {
        try (PreparedStatement select =
                prepare("SELECT r.epoch, r.settled, o.complete, r.delta_millis, b.token, b.epoch"
                        + " FROM palisade_register r JOIN palisade_marks_owner o ON o.id = r.id"
                        + " LEFT JOIN palisade_mark_bases b ON b.issuer = ? AND b.domain = ? WHERE r.id = 1")) {
            bind(select, new Name(issuer), domain);
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new SQLException("palisade_register has lost its row");
                }
                State state =
                        new State(row.getLong(1), row.getLong(2), row.getBoolean(3), row.getLong(4), row.getLong(4));
                long token = row.getLong(5);
                boolean isBase = !row.wasNull() && row.getLong(6) == state.epoch();
                return new StateAndBase(state, isBase ? Optional.of(token) : Optional.empty());
            }
        }
    }

    @Override
    public void settle(long epoch) throws SQLException {
        update(
                "UPDATE palisade_register SET settled = ? WHERE id = 1 AND epoch = ? AND settled < ?",
                epoch,
                epoch,
                epoch);
    }

    /** All marks and base marks count as missing from now on. Locks the rows in the order of a guard that starts. */
    @Override
    public void raiseEpoch() throws SQLException {
        update("UPDATE palisade_marks_owner SET complete = FALSE WHERE id = 1");
        update("UPDATE palisade_register SET epoch = epoch + 1 WHERE id = 1");
    }

    /** Whether there is neither a mark nor a base mark. */
    boolean isEmpty() throws SQLException {
        try (PreparedStatement select = prepare("SELECT 1 FROM palisade_register r WHERE r.id = 1"
                        + " AND NOT EXISTS (SELECT 1 FROM palisade_marks)"
                        + " AND NOT EXISTS (SELECT 1 FROM palisade_mark_bases)");
                ResultSet row = select.executeQuery()) {
            return row.next();
        }
    }

    @Override
    public void putBase(BaseMark base, long epoch) throws SQLException {
        int updated = update(
                "UPDATE palisade_mark_bases SET token = ?, epoch = ? WHERE issuer = ? AND domain = ? AND epoch < ?",
                base.token(),
                epoch,
                new Name(base.issuer()),
                base.domain(),
                epoch);
        if (updated == 0 && state(base.issuer(), base.domain()).base().isEmpty()) {
            update(
                    "INSERT INTO palisade_mark_bases (issuer, domain, token, epoch) VALUES (?, ?, ?, ?)",
                    new Name(base.issuer()),
                    base.domain(),
                    base.token(),
                    epoch);
        }
    }

    /** Locks the row of {@code resource} until the transaction ends, and makes it if it is not there. */
    @Override
    public MarkRow lockMark(String resource) throws SQLException {
        MarkRow row = selectMark(resource);
        if (row == null) {
            update(
                    dialect.insertUnlessPresent(
                            "palisade_marks",
                            "(resource, issuer, lock_name, x_token, x_grant, s_token, raised_at_millis, epoch)"
                                    + " VALUES (?, '', '', 0, '', 0, 0, -1)"),
                    new Name(resource));
            row = selectMark(resource);
        }
        if (row == null) {
            throw new SQLException("palisade_marks has no row of '" + resource + "' right after it was made");
        }
        return row;
    }

    private @Nullable MarkRow selectMark(String resource) throws SQLException {
        try (PreparedStatement select = prepare("SELECT issuer, lock_name, x_token, x_grant, s_token, raised_at_millis,"
                + " epoch FROM palisade_marks WHERE resource = ? FOR UPDATE")) {
            bind(select, new Name(resource));
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    return null;
                }
                String lock = text(row, 2);
                StoredMark mark = lock.isEmpty()
                        ? null
                        : new StoredMark(resource, text(row, 1), new LockName(lock), mark(row, 3), row.getLong(6));
                return new MarkRow(mark, row.getLong(7));
            }
        }
    }

    private static Mark mark(ResultSet row, int from) throws SQLException {
        String grant = row.getString(from + 1);
        return new Mark(row.getLong(from), grant.isEmpty() ? null : grant(grant), row.getLong(from + 2));
    }

    private static GrantId grant(String hex) {
        return GrantId.of(HexFormat.of().parseHex(hex));
    }

    @Override
    public void putMark(StoredMark stored, long epoch) throws SQLException {
        Mark mark = stored.mark();
        GrantId grant = mark.exclusiveGrant();
        int updated = update(
                "UPDATE palisade_marks SET issuer = ?, lock_name = ?, x_token = ?, x_grant = ?, s_token = ?,"
                        + " raised_at_millis = ?, epoch = ? WHERE resource = ?",
                new Name(stored.issuer()),
                new Name(stored.lock().value()),
                mark.exclusiveToken(),
                grant == null ? "" : grant.toString(),
                mark.sharedToken(),
                stored.raisedAtMillis(),
                epoch,
                new Name(stored.resource()));
        if (updated != 1) {
            throw new SQLException("palisade_marks has lost its row of '" + stored.resource() + "'");
        }
    }

    @Override
    public List<RegisteredCall> calls(String resource) throws SQLException {
        List<RegisteredCall> calls = new ArrayList<>();
        try (PreparedStatement select = prepare("SELECT guard, number, exclusive, token, grant_id, writes, quarantined"
                + " FROM palisade_register_calls WHERE resource = ?")) {
            bind(select, new Name(resource));
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    calls.add(new RegisteredCall(
                            row.getString(1),
                            row.getLong(2),
                            row.getBoolean(3) ? Mode.EXCLUSIVE : Mode.SHARED,
                            row.getLong(4),
                            grant(row.getString(5)),
                            row.getBoolean(6) ? Access.WRITE : Access.READ,
                            row.getBoolean(7)));
                }
            }
        }
        return calls;
    }

    @Override
    public void register(String resource, RegisteredCall call) throws SQLException {
        update(
                "INSERT INTO palisade_register_calls (guard, number, resource, exclusive, token, grant_id, writes,"
                        + " quarantined) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                call.guard(),
                call.number(),
                new Name(resource),
                call.mode() == Mode.EXCLUSIVE,
                call.token(),
                call.grant().toString(),
                call.access() == Access.WRITE,
                call.quarantined());
    }

    @Override
    public void remove(String resource, String guard, Collection<Long> numbers) throws SQLException {
        each("DELETE FROM palisade_register_calls WHERE guard = ? AND number = ?", guard, numbers);
    }

    @Override
    public void quarantine(String resource, String guard, Collection<Long> numbers) throws SQLException {
        each("UPDATE palisade_register_calls SET quarantined = TRUE WHERE guard = ? AND number = ?", guard, numbers);
    }

    private void each(String sql, String guard, Collection<Long> numbers) throws SQLException {
        if (numbers.isEmpty()) {
            return;
        }
        try (PreparedStatement statement = prepare(sql)) {
            for (long number : numbers) {
                bind(statement, guard, number);
                statement.addBatch();
            }
            statement.executeBatch();
        }
    }

    void insertGuard(String id, String owner, long leaseMillis) throws SQLException {
        update(
                "INSERT INTO palisade_register_guards (id, owner, lease_millis, beats, renewed_at_millis)"
                        + " VALUES (?, ?, ?, 0, " + dialect.nowMillis() + ")",
                id,
                new Name(owner),
                leaseMillis);
    }

    @Override
    public void awaitLeave(String resource) throws SQLException {
        if (announcements.listens()) {
            update(dialect.insertUnlessPresent("palisade_register_waits", "(resource) VALUES (?)"), new Name(resource));
        }
    }

    /** PostgreSQL sends it with the commit, once for each wait: a NOTIFY takes a lock of the whole database. */
    @Override
    public void announceLeave(String resource) throws SQLException {
        if (!announcements.isPossible()) {
            return;
        }
        try (PreparedStatement announce =
                prepare("WITH gone AS (DELETE FROM palisade_register_waits WHERE resource = ? RETURNING resource)"
                        + " SELECT pg_notify(?, resource) FROM gone")) {
            bind(announce, new Name(resource), announcements.channel());
            announce.execute();
        }
    }

    @Override
    public boolean renew(String guard) throws SQLException {
        return update(
                        "UPDATE palisade_register_guards SET beats = beats + 1, renewed_at_millis = "
                                + dialect.nowMillis() + " WHERE id = ?",
                        guard)
                == 1;
    }

    @Override
    public List<GuardRow> guards() throws SQLException {
        List<GuardRow> guards = new ArrayList<>();
        try (PreparedStatement select = prepare("SELECT g.id, g.owner, g.lease_millis, g.beats, (SELECT COUNT(*)"
                        + " FROM palisade_register_calls c WHERE c.guard = g.id) FROM palisade_register_guards g");
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                guards.add(
                        new GuardRow(row.getString(1), text(row, 2), row.getLong(3), row.getLong(4), row.getLong(5)));
            }
        }
        return guards;
    }

    @Override
    public boolean deleteGuard(String id) throws SQLException {
        return update("DELETE FROM palisade_register_guards WHERE id = ?", id) == 1;
    }

    @Override
    public boolean deleteGuard(String id, long beats) throws SQLException {
        return update("DELETE FROM palisade_register_guards WHERE id = ? AND beats = ?", id, beats) == 1;
    }

    @Override
    public Map<String, Mark> marksOfCalls(String guard, Collection<String> resources) throws SQLException {
        Map<String, Mark> marks = new HashMap<>();
        try (PreparedStatement select = prepare(
                "SELECT m.resource, m.x_token, m.x_grant, m.s_token"
                        + " FROM palisade_register_calls c JOIN palisade_marks m ON m.resource = c.resource WHERE c.guard = ?")) {
            bind(select, guard);
            try (ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    marks.put(text(row, 1), mark(row, 2));
                }
            }
        }
        return marks;
    }

    @Override
    public void putRegistration(String name, long token) throws SQLException {
        marks().apply(List.of(new Change.Registration(name, token)));
    }

    @Override
    public Optional<Long> registration(String name) throws SQLException {
        return Optional.ofNullable(marks().registrations().get(name));
    }

    private static String text(ResultSet row, int column) throws SQLException {
        return new String(row.getBytes(column), StandardCharsets.UTF_8);
    }

    private int update(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql)) {
            bind(statement, values);
            return statement.executeUpdate();
        }
    }

    private void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            if (values[i] instanceof Name name) {
                dialect.bindResource(statement, i + 1, name.text());
            } else {
                statement.setObject(i + 1, values[i]);
            }
        }
    }

    private PreparedStatement prepare(String sql) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        try {
            statement.setQueryTimeout(seconds);
            return statement;
        } catch (SQLException e) {
            statement.close();
            throw e;
        }
    }
}
