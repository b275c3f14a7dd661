package dev.palisade.sessions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.patience.PatientPostgres;
import dev.palisade.scenario.TimingSensitive;
import dev.palisade.sessions.Scene.Watched;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** Over a log in PostgreSQL. */
@TimingSensitive("A takeover has its time, which other tests would use up")
class StandbyOnPostgresIT extends ActiveAndStandby<EmbeddedPostgres> {
    StandbyOnPostgresIT() throws IOException {
        super(
                PatientPostgres.builder().setServerConfig("fsync", "on").start(),
                postgres -> "postgresql://postgres@127.0.0.1:" + postgres.getPort() + "/postgres");
    }

    private void ask(String sql) throws SQLException {
        try (var connection = product.getPostgresDatabase().getConnection();
                var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void aHolderKeepsItsLeaseAlthoughEveryConnectionBreaks() throws Exception {
        Watched held = Scene.take(client, "orders/7", 3_000);
        ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'palisade %'");
        Watched next = Scene.take(client, "orders/8", TTL_MILLIS);
        assertThat(next.token()).isGreaterThan(held.token());
        assertThat(held.loss()).isNotDone();
        held.lease().close();
    }

    @Test
    void aHolderKeepsItsLeaseAlthoughTheTablesAreEmptied() throws Exception {
        Watched held = Scene.take(client, "orders/7", 3_000);
        ask("TRUNCATE palisade_log, palisade_log_batch");
        Scene.eventually()
                .until(() -> client.operations().history("orders/7").stream()
                        .anyMatch(entry -> entry.what().equals("RECLAIMED")));
        assertThat(held.loss()).isNotDone();
        held.lease().close();
    }
}
