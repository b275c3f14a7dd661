package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.grants.Grants;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

class FencedJdbcOnH2Test extends FencedJdbcContract {
    /** A session that meets another's uncommitted insert polls: H2 names no blocker for it. */
    static final String WAITERS = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE BLOCKER_ID IS NOT NULL"
            + " OR EXECUTING_STATEMENT LIKE 'INSERT INTO palisade_fence%'";

    @Override
    DataSource dataSource() {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:fenced;DB_CLOSE_DELAY=-1");
        return source;
    }

    @Override
    String waitersSql() {
        return WAITERS;
    }

    @Override
    String lockWait(Connection connection) throws SQLException {
        return Long.toString(number(connection, "CALL LOCK_TIMEOUT()"));
    }

    /** The reason for the snapshot in SqlDialect. When this fails, H2 has learnt it and the dialect can use it. */
    @Test
    void thisH2HasNoForShare() throws SQLException {
        try (Connection connection = dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.executeQuery("SELECT resource FROM palisade_fence FOR SHARE"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42000"));
        }
    }

    @Test
    void anUnknownDatabaseIsRefusedInOneLine() {
        DatabaseMetaData metaData = only(DatabaseMetaData.class, "getDatabaseProductName", "Oracle");
        Connection connection = only(Connection.class, "getMetaData", metaData);
        assertThatThrownBy(() ->
                        FencedJdbc.create(only(DataSource.class, "getConnection", connection), new Grants().verifier()))
                .isInstanceOf(SQLException.class)
                .hasMessage("FencedJdbc does not know the database 'Oracle'; use PostgreSQL, MySQL, MariaDB or H2");
    }

    private static <T> T only(Class<T> type, String method, Object answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader() == null ? FencedJdbcOnH2Test.class.getClassLoader() : type.getClassLoader(),
                new Class<?>[] {type},
                (self, called, arguments) -> called.getName().equals(method) ? answer : null));
    }
}
