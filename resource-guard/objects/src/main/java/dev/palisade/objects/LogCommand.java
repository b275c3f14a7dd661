package dev.palisade.objects;

import com.google.gson.JsonObject;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Defaults;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code palisade objects log}: prints the applied-log of a stopped storage. Opens the database read-only. */
@Command(
        name = "log",
        description =
                "Prints what was applied, in order: one line per call, after one line about dropped ones. The storage"
                        + " must be stopped.")
final class LogCommand implements Callable<Integer> {
    @SuppressWarnings("UnusedVariable")
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help and exit.")
    private boolean help;

    @Option(
            names = "--data-dir",
            paramLabel = "DIR",
            description = "Directory of the database (PALISADE_HOME or ~/.palisade, then objects).")
    private @Nullable Path dataDir;

    @Option(names = "--json", description = "One JSON object per line.")
    private boolean json;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws CannotStart, IOException {
        Path directory = dataDir == null ? Defaults.home().resolve("objects") : dataDir;
        try (DataDirectory data = DataDirectory.holdExisting(directory);
                Connection connection = DriverManager.getConnection(data.jdbcUrlReadOnly(), "", "")) {
            PrintWriter out =
                    java.util.Objects.requireNonNull(spec).commandLine().getOut();
            LogRetention.Dropped.read(connection, false)
                    .filter(dropped -> dropped.rows() > 0)
                    .ifPresent(dropped -> out.println(json ? json(dropped) : line(dropped)));
            AppliedLog.readAll(connection, row -> out.println(json ? json(row) : line(row)));
            out.flush();
            return 0;
        } catch (SQLException e) {
            throw new CannotStart("database in " + directory + " cannot be read: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
    }

    private static String line(LogRetention.Dropped dropped) {
        return "dropped: %d older calls up to number %d, applied until %s (--log-age-max, --log-rows-max)"
                .formatted(dropped.rows(), dropped.lastSeq(), dropped.lastAt());
    }

    private static String json(LogRetention.Dropped dropped) {
        JsonObject object = new JsonObject();
        object.addProperty("dropped", dropped.rows());
        object.addProperty("last_seq", dropped.lastSeq());
        object.addProperty("last_at", dropped.lastAt());
        return object.toString();
    }

    private static String line(AppliedLog.Row row) {
        return "%d %s %s %s token=%d grant=%s mode=%s lock=%s version=%d bytes=%d"
                .formatted(
                        row.seq(),
                        row.at(),
                        row.operation(),
                        row.key(),
                        row.token(),
                        row.grantHex().isEmpty() ? "-" : row.grantHex(),
                        row.mode() == null ? "-" : row.mode(),
                        row.resource(),
                        row.version(),
                        row.sizeBytes());
    }

    private static String json(AppliedLog.Row row) {
        JsonObject object = new JsonObject();
        object.addProperty("seq", row.seq());
        object.addProperty("at", row.at());
        object.addProperty("resource", row.resource());
        object.addProperty("operation", row.operation().name());
        object.addProperty("key", row.key());
        object.addProperty("mode", row.mode() == null ? "" : row.mode().name());
        object.addProperty("token", row.token());
        object.addProperty("grant", row.grantHex());
        object.addProperty("version", row.version());
        object.addProperty("size_bytes", row.sizeBytes());
        object.addProperty("sha256", row.sha256());
        return object.toString();
    }
}
