package dev.palisade.guard.storage;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** On a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@NullUnmarked
class FencedJdbcOnPostgresTest extends FencedJdbcContract {
    private static EmbeddedPostgres postgres;

    @BeforeAll
    static void start() throws IOException {
        postgres = EmbeddedPostgres.start();
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
}
