package dev.palisade.objects;

import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;

class ObjectsServiceOnH2Test extends ObjectsServiceContract {
    @Override
    DataSource dataSource() {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL("jdbc:h2:mem:objects;DB_CLOSE_DELAY=-1");
        return source;
    }
}
