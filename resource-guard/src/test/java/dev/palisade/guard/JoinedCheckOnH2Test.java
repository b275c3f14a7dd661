package dev.palisade.guard;

import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;

class JoinedCheckOnH2Test extends JoinedCheckContract {
    @Override
    DataSource dataSource() {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:joined;DB_CLOSE_DELAY=-1");
        return source;
    }

    @Override
    String waitersSql() {
        return FencedJdbcOnH2Test.WAITERS;
    }
}
