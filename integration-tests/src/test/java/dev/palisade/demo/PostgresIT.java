package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.demo.PauseRace.Outcome;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.scenario.Installation;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The pause race on a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@Execution(ExecutionMode.CONCURRENT)
class PostgresIT {
    @Test
    void theLateWriteIsRefusedOnPostgresToo() throws Exception {
        try (EmbeddedPostgres postgres = PatientPostgres.builder().start();
                Installation installation = Installation.fresh()) {
            String url = postgres.getJdbcUrl("postgres", "postgres");

            Outcome outcome = new PauseRace(new Timeline(System.out)).run(installation, true, "--jdbc-url", url);

            assertThat(outcome.guarded()).as(outcome.toString()).isTrue();
            try (Connection connection = postgres.getPostgresDatabase().getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet mark =
                            statement.executeQuery("SELECT x_token FROM palisade_fence WHERE resource = 'stock/42'")) {
                assertThat(mark.next()).isTrue();
                assertThat(mark.getString(1)).isEqualTo(outcome.tokenB());
            }
        }
    }
}
