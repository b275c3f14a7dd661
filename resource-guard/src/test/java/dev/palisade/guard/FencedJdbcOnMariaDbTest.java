package dev.palisade.guard;

import java.sql.SQLException;
import javax.sql.DataSource;
import org.mariadb.jdbc.MariaDbDataSource;

class FencedJdbcOnMariaDbTest extends FencedJdbcOnMariaDbContract {
    @Override
    DataSource dataSource() {
        try {
            return new MariaDbDataSource(server().url("mariadb", ""));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }
}
