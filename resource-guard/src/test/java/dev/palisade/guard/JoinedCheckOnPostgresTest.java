package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** On a real PostgreSQL, started here; if it cannot start this fails, it is never skipped. */
@NullUnmarked
class JoinedCheckOnPostgresTest extends JoinedCheckContract {
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

    /** As Spring's readOnly sets it, and as a standby or plain SQL does, which JDBC does not tell of. */
    @Test
    void readOnlyTransactionIsNamedForWhatItIs() throws SQLException {
        try (Connection mine = open()) {
            mine.setReadOnly(true);
            refusedAsReadOnly(mine);
            mine.rollback();
            mine.setReadOnly(false);
        }
        try (Connection mine = open();
                Statement statement = mine.createStatement()) {
            statement.execute("SET TRANSACTION READ ONLY");
            refusedAsReadOnly(mine);
            mine.rollback();
        }
        assertThat(fenced().mark("orders/42")).isEqualTo(Mark.NONE);
    }

    private void refusedAsReadOnly(Connection mine) {
        assertThatThrownBy(() -> fenced().check(mine, grants.shared("orders/42", 34), ORDER, Access.READ))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("read-only")
                .hasMessageContaining("primary")
                .hasMessageNotContaining("\n");
    }
}
