package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which servers {@link MySqlDialect} takes, by the variables that they show. */
class MySqlDialectTest {
    private static final Map<String, String> MYSQL =
            Map.of("version", "8.4.6", "version_comment", "MySQL Community Server - GPL");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "version|8.0.11-TiDB-v8.5.1|does not know the database '8.0.11-TiDB-v8.5.1",
                "version|8.0.30-Vitess|only speaks MySQL's protocol",
                "version_comment|SingleStoreDB source distribution|only speaks MySQL's protocol",
                "wsrep_on|ON|cannot use a Galera cluster",
                "group_replication_single_primary_mode|OFF|cannot use group replication with several primaries",
            })
    void serverWhoseRowLocksDoNotHoldIsRefused(String variable, String value, String message) {
        Map<String, String> variables = new HashMap<>(MYSQL);
        variables.put(variable, value);
        assertThatThrownBy(() -> MySqlDialect.of(variables, "jdbc:mysql://db/shop"))
                .isInstanceOf(SQLException.class)
                .hasMessageStartingWith("FencedJdbc ")
                .hasMessageContaining(message)
                .hasMessageNotContaining("\n");
    }

    @Test
    void driverThatRepeatsTransactionsByItselfIsRefused() {
        assertThatThrownBy(() -> MySqlDialect.of(MYSQL, "jdbc:mariadb://db/shop?transactionReplay=TRUE"))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("transactionReplay");
    }

    @Test
    void plainServersAndSinglePrimariesAreTaken() throws SQLException {
        Map<String, String> single = new HashMap<>(MYSQL);
        single.put("group_replication_single_primary_mode", "ON");
        single.put("wsrep_on", "OFF");
        assertThat(MySqlDialect.of(MYSQL, null)).isNotNull();
        assertThat(MySqlDialect.of(single, "jdbc:mysql://db/shop")).isNotNull();
    }

    @ParameterizedTest
    @CsvSource({"1,OFF,0,true", "1,ON,1,true", "1,ON,0,false", "1,ON,100,false", "2,OFF,1,false", "0,ON,1,false"})
    void commitIsDurableWhenAllLogsOfItAreSynced(String flush, String binaryLog, String sync, boolean durable) {
        Map<String, String> variables =
                Map.of("innodb_flush_log_at_trx_commit", flush, "log_bin", binaryLog, "sync_binlog", sync);
        if (durable) {
            assertThatCode(() -> MySqlDialect.requireDurableCommits(variables)).doesNotThrowAnyException();
        } else {
            assertThatThrownBy(() -> MySqlDialect.requireDurableCommits(variables))
                    .hasMessageEndingWith("is not 1; set it")
                    .hasMessageNotContaining("\n");
        }
    }
}
