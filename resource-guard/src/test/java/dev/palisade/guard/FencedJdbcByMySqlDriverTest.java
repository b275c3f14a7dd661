package dev.palisade.guard;

import com.mysql.cj.jdbc.MysqlDataSource;
import javax.sql.DataSource;

/** With useAffectedRows, under which an UPDATE that changes nothing counts no row. */
class FencedJdbcByMySqlDriverTest extends FencedJdbcOnMariaDbContract {
    @Override
    DataSource dataSource() {
        MysqlDataSource source = new MysqlDataSource();
        source.setUrl(server().url("mysql", "&useAffectedRows=true&sslMode=DISABLED"));
        return source;
    }
}
