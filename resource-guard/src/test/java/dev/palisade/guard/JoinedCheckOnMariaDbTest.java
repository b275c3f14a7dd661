package dev.palisade.guard;

import dev.palisade.mariadb.MariaDbServer;
import java.io.IOException;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.mariadb.jdbc.MariaDbDataSource;

/** With useAffectedRows and statements that the server prepares, which the other class with this driver does not set. */
@NullUnmarked
class JoinedCheckOnMariaDbTest extends JoinedCheckContract {
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

    @Override
    DataSource dataSource() {
        try {
            return new MariaDbDataSource(server.url("mariadb", "&useAffectedRows=true&useServerPrepStmts=true"));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    String waitersSql() {
        return FencedJdbcOnMariaDbContract.WAITERS;
    }

    @Override
    boolean takesSnapshotBehindTheLock() {
        return true;
    }
}
