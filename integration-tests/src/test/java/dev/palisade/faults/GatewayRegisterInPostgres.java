package dev.palisade.faults;

import dev.palisade.check.Marks.Mark;
import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;

/** Register in a PostgreSQL of its own. */
final class GatewayRegisterInPostgres implements GatewayRegister {
    private final EmbeddedPostgres postgres;

    GatewayRegisterInPostgres() throws IOException {
        postgres = PatientPostgres.builder()
                .setServerConfig("synchronous_commit", "on")
                .start();
    }

    @Override
    public String yaml() {
        return "jdbc-url: " + postgres.getJdbcUrl("postgres", "postgres") + "\n  user: postgres";
    }

    @Override
    public Map<String, Mark> marks() throws SQLException {
        Map<String, Mark> marks = new HashMap<>();
        try (Connection connection = postgres.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT resource, x_token, x_grant, s_token FROM palisade_marks WHERE lock_name <> ''")) {
            while (row.next()) {
                marks.put(row.getString(1), new Mark(row.getLong(2), row.getString(3), row.getLong(4)));
            }
        }
        return marks;
    }

    @Override
    public long guards() {
        return number("SELECT COUNT(*) FROM palisade_register_guards");
    }

    @Override
    public long quarantined() {
        return number("SELECT COUNT(*) FROM palisade_register_calls WHERE quarantined");
    }

    private long number(String sql) {
        try (Connection connection = postgres.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        try {
            postgres.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
