package dev.palisade.guard;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.guard.MarkStore.StoredMark;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The statements of a {@link JdbcMarkStore}, in SQL that PostgreSQL and H2 share. The holder of the owner row is the
 * only writer, so plain UPDATE and INSERT are enough. Never commits, never rolls back; every statement is bounded in
 * time.
 */
final class MarkTables {
    private final Connection connection;
    private final int seconds;

    /** @param complete see {@link KeptMarks}, as the other */
    record Owner(String id, boolean complete, boolean closedInOrder, String marksId) {
        /** In place of a guard: all guards of a {@link SharedRegister}. */
        private static final String SHARED = "shared";

        boolean isShared() {
            return id.equals(SHARED);
        }

        Owner shared() {
            return new Owner(SHARED, complete, false, marksId);
        }
    }

    private interface Bind<T> {
        void to(PreparedStatement statement, T value) throws SQLException;
    }

    /** @param seconds the bound on each statement, its waits for locks included */
    MarkTables(Connection connection, int seconds) {
        this.connection = connection;
        this.seconds = seconds;
    }

    void create() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(seconds);
            statement.execute(ddl("palisade_marks.sql"));
        }
    }

    /** Locks the owner row until the transaction ends; null: the store was never opened. */
    @Nullable
    Owner lockOwner() throws SQLException {
        try (PreparedStatement select = prepare(
                        "SELECT owner, complete, closed_in_order, marks_id FROM palisade_marks_owner WHERE id = 1"
                                + " FOR UPDATE");
                ResultSet row = select.executeQuery()) {
            return row.next()
                    ? new Owner(row.getString(1), row.getBoolean(2), row.getBoolean(3), row.getString(4))
                    : null;
        }
    }

    /** Fails when another transaction inserted it at the same time. */
    void insertOwner(Owner owner) throws SQLException {
        one(
                "INSERT INTO palisade_marks_owner (owner, complete, closed_in_order, marks_id, id) VALUES (?, ?, ?, ?, 1)",
                owner);
    }

    void updateOwner(Owner owner) throws SQLException {
        one(
                "UPDATE palisade_marks_owner SET owner = ?, complete = ?, closed_in_order = ?, marks_id = ?"
                        + " WHERE id = 1",
                owner);
    }

    private void one(String sql, Owner owner) throws SQLException {
        try (PreparedStatement statement = prepare(sql)) {
            statement.setString(1, owner.id());
            statement.setBoolean(2, owner.complete());
            statement.setBoolean(3, owner.closedInOrder());
            statement.setString(4, owner.marksId());
            if (statement.executeUpdate() != 1) {
                throw new SQLException("palisade_marks_owner has lost its row");
            }
        }
    }

    boolean holdsMarks() throws SQLException {
        return !marks().isEmpty() || !bases().isEmpty();
    }

    /** @throws IllegalArgumentException or RejectedException when a row holds no mark */
    List<StoredMark> marks() throws SQLException {
        List<StoredMark> marks = new ArrayList<>();
        try (PreparedStatement select =
                        prepare("SELECT resource, issuer, lock_name, x_token, x_grant, s_token, raised_at_millis"
                                + " FROM palisade_marks");
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                String grant = row.getString(5);
                Mark mark = new Mark(
                        row.getLong(4),
                        grant.isEmpty() ? null : GrantId.of(HexFormat.of().parseHex(grant)),
                        row.getLong(6));
                marks.add(new StoredMark(
                        row.getString(1), row.getString(2), new LockName(row.getString(3)), mark, row.getLong(7)));
            }
        }
        return marks;
    }

    List<BaseMark> bases() throws SQLException {
        List<BaseMark> bases = new ArrayList<>();
        try (PreparedStatement select = prepare("SELECT issuer, domain, token FROM palisade_mark_bases");
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                bases.add(new BaseMark(row.getString(1), row.getInt(2), row.getLong(3)));
            }
        }
        return bases;
    }

    Map<String, Long> registrations() throws SQLException {
        Map<String, Long> registrations = new HashMap<>();
        try (PreparedStatement select = prepare("SELECT name, token FROM palisade_mark_registrations");
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                registrations.put(row.getString(1), row.getLong(2));
            }
        }
        return registrations;
    }

    /** What {@code batch} comes to: each row is written once, or once more after marks were forgotten. */
    void apply(List<Change> batch) throws SQLException {
        int from = 0;
        for (int i = 0; i < batch.size(); i++) {
            if (batch.get(i) instanceof Change.Forget) {
                forget();
                from = i + 1;
            }
        }
        Map<String, Long> registrations = new LinkedHashMap<>();
        for (Change change : batch) {
            if (change instanceof Change.Registration registration) {
                registrations.put(registration.name(), registration.token());
            }
        }
        applyMarks(batch.subList(from, batch.size()));
        upsert(
                "UPDATE palisade_mark_registrations SET token = ? WHERE name = ?",
                "INSERT INTO palisade_mark_registrations (token, name) VALUES (?, ?)",
                registrations.entrySet(),
                (statement, registration) -> {
                    statement.setLong(1, registration.getValue());
                    statement.setString(2, registration.getKey());
                });
    }

    private void forget() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(seconds);
            statement.executeUpdate("DELETE FROM palisade_marks");
            statement.executeUpdate("DELETE FROM palisade_mark_bases");
            statement.executeUpdate("UPDATE palisade_marks_owner SET complete = FALSE WHERE id = 1");
        }
    }

    private void applyMarks(List<Change> batch) throws SQLException {
        Map<String, Optional<StoredMark>> marks = new LinkedHashMap<>();
        Map<List<Object>, BaseMark> bases = new LinkedHashMap<>();
        for (Change change : batch) {
            if (change instanceof Change.Put put) {
                marks.put(put.mark().resource(), Optional.of(put.mark()));
            } else if (change instanceof Change.Base raised) {
                BaseMark base = raised.base();
                bases.put(List.of(base.issuer(), base.domain()), base);
                raised.dropped().forEach(resource -> marks.put(resource, Optional.empty()));
            }
        }
        List<String> dropped = new ArrayList<>();
        List<StoredMark> put = new ArrayList<>();
        marks.forEach((resource, mark) -> mark.ifPresentOrElse(put::add, () -> dropped.add(resource)));
        all(
                "DELETE FROM palisade_marks WHERE resource = ?",
                dropped,
                (statement, name) -> statement.setString(1, name));
        upsert(
                "UPDATE palisade_marks SET issuer = ?, lock_name = ?, x_token = ?, x_grant = ?, s_token = ?,"
                        + " raised_at_millis = ? WHERE resource = ?",
                "INSERT INTO palisade_marks (issuer, lock_name, x_token, x_grant, s_token, raised_at_millis, resource)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?)",
                put,
                MarkTables::bindMark);
        upsert(
                "UPDATE palisade_mark_bases SET token = ? WHERE issuer = ? AND domain = ?",
                "INSERT INTO palisade_mark_bases (token, issuer, domain) VALUES (?, ?, ?)",
                bases.values(),
                MarkTables::bindBase);
    }

    private static void bindMark(PreparedStatement statement, StoredMark stored) throws SQLException {
        GrantId grant = stored.mark().exclusiveGrant();
        statement.setString(1, stored.issuer());
        statement.setString(2, stored.lock().value());
        statement.setLong(3, stored.mark().exclusiveToken());
        statement.setString(4, grant == null ? "" : grant.toString());
        statement.setLong(5, stored.mark().sharedToken());
        statement.setLong(6, stored.raisedAtMillis());
        statement.setString(7, stored.resource());
    }

    private static void bindBase(PreparedStatement statement, BaseMark base) throws SQLException {
        statement.setLong(1, base.token());
        statement.setString(2, base.issuer());
        statement.setInt(3, base.domain());
    }

    private <T> void upsert(String update, String insert, Collection<T> values, Bind<T> bind) throws SQLException {
        int[] counts = all(update, values, bind);
        List<T> missing = new ArrayList<>();
        int i = 0;
        for (T value : values) {
            if (counts[i++] == 0) {
                missing.add(value);
            }
        }
        all(insert, missing, bind);
    }

    /** @return how many rows each of them changed */
    private <T> int[] all(String sql, Collection<T> values, Bind<T> bind) throws SQLException {
        if (values.isEmpty()) {
            return new int[0];
        }
        try (PreparedStatement statement = prepare(sql)) {
            for (T value : values) {
                bind.to(statement, value);
                statement.addBatch();
            }
            return statement.executeBatch();
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

    static String ddl(String resource) {
        try (InputStream ddl = Objects.requireNonNull(MarkTables.class.getResourceAsStream(resource))) {
            return new String(ddl.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
