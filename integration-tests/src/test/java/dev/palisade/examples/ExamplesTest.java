package dev.palisade.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The guard's example does what the README says it does. The client's runs in the integration tests. */
class ExamplesTest {
    @Test
    void theGuardedWriteOfTheReadmeIsAppliedOnceAndItsStaleTwinIsRefused(@TempDir Path directory) throws Exception {
        JdbcDataSource dataSource = new JdbcDataSource();
        dataSource.setUrl("jdbc:h2:" + directory.resolve("orders"));
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, status VARCHAR(20))");
            statement.execute("INSERT INTO orders VALUES (42, 'new')");
        }
        Path keyset = directory.resolve("keys.json");
        KeysetFile keys = KeysetFile.openOrCreate(keyset);

        GuardAWrite.run(dataSource, keyset, signed(keys, 34));
        assertThat(status(dataSource)).isEqualTo("paid");
        assertThatThrownBy(() -> GuardAWrite.run(dataSource, keyset, signed(keys, 33)))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE));
    }

    private static SignedSequencer signed(KeysetFile keys, long token) {
        return keys.sign(new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(7, token),
                0));
    }

    private static String status(JdbcDataSource dataSource) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT status FROM orders WHERE id = 42")) {
            row.next();
            return row.getString(1);
        }
    }
}
