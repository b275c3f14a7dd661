package dev.palisade.objects;

import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;

class LogRetentionOnH2Test extends LogRetentionContract {
    @Override
    DataSource dataSource() {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:retention;DB_CLOSE_DELAY=-1");
        return source;
    }
}
