package dev.palisade.examples;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Binding;
import dev.palisade.guard.FencedJdbc;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import javax.sql.DataSource;

/** The README's second snippet. */
public final class GuardAWrite {
    private GuardAWrite() {}

    public static void run(DataSource dataSource, Path keyset, SignedSequencer sequencer)
            throws IOException, SQLException {
        // snippet
        FencedJdbc fenced =
                FencedJdbc.create(dataSource, KeysetFile.open(keyset).verifier("palisade"));
        fenced.createTable(); // once, when the service starts
        fenced.write(sequencer, Binding.of("orders/42"), connection -> {
            return setStatus(connection, 42, "paid");
        });
        // end
    }

    private static int setStatus(Connection connection, long order, String status) throws SQLException {
        try (PreparedStatement update = connection.prepareStatement("UPDATE orders SET status = ? WHERE id = ?")) {
            update.setString(1, status);
            update.setLong(2, order);
            return update.executeUpdate();
        }
    }
}
