package dev.palisade.guard;

import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;

class JdbcMarkStoreOnH2Test extends JdbcMarkStoreContract {
    @Override
    DataSource database() {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:marks;DB_CLOSE_DELAY=-1");
        return source;
    }
}
