package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.mariadb.MariaDbServer;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.mariadb.jdbc.MariaDbDataSource;

@NullUnmarked
class SharedRegisterOnMariaDbTest extends SharedRegisterOnSqlContract {
    private static MariaDbServer server;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        server = MariaDbServer.startOrSkip();
    }

    @AfterAll
    static void stop() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    /** The server of tests syncs nothing, whatever this says. */
    @BeforeEach
    void makeDurable() {
        execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    }

    @Override
    DataSource database() {
        return database("");
    }

    private static DataSource database(String options) {
        try {
            return new MariaDbDataSource(server.url("mariadb", options));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void databaseThatMayTakeCommitsBackIsRefused() {
        execute("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
        assertThatThrownBy(() -> builder(MarkStore.shared(database())).build())
                .hasMessageContaining("innodb_flush_log_at_trx_commit is not 1");
    }

    /** With this option of either driver an UPDATE that changes nothing counts no row. */
    @Test
    void driverThatCountsChangedRowsOnlyIsTaken() {
        guard();
        DataSource counting = database("&useAffectedRows=true");
        Guard second = opened(builder(MarkStore.shared(counting, Duration.ofMinutes(5))));
        admitted(write(second, 33)).close();
        admitted(write(second, 33)).close();
        await(() -> calls() == 0);
    }
}
