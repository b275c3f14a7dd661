package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** {@code palisade chaos postgresql}, short: what it prints, its exit codes, and that it continues. */
@Isolated("Two databases, their standby and two lock servers: others would miss what they promise within a time.")
class PostgresIncidentsCommandIT {
    private static List<String> incidents(Path programs, String... options) {
        return IncidentsCommandIT.chaos("postgresql", PostgresPrograms.PROPERTY + "=" + programs, options);
    }

    @Test
    void runContinuesAndIsAddedUp(@TempDir Path directory) throws Exception {
        Path programs = BundledPostgres.programs();
        Path run = directory.resolve("run");
        String only = "KILLED,TRUNCATED";
        assertThat(incidents(programs, "--against", "naive", "--only", only, "--seed", "1", "--out", run.toString()))
                .anyMatch(line -> line.contains("; by PostgreSQL 14 (" + programs))
                .anyMatch(line -> line.matches("tables truncated +[1-9]\\d*"))
                .anyMatch(line -> line.matches("naive +2 .*"))
                .endsWith("exit code 0");
        // As if it had been ended after the second of three.
        Path state = run.resolve("state.json");
        Files.writeString(state, Files.readString(state).replace("\"incidents\": 2", "\"incidents\": 3"));
        assertThat(incidents(programs, "--resume", run.toString())).anyMatch(line -> line.matches("naive +3 .*"));
        assertThat(incidents(programs, "sum", run.toString()))
                .contains("seeds [1]")
                .anyMatch(line -> line.matches("naive +3 .*"));
    }

    @Test
    void runWithoutPostgresqlIsRefusedWithOneLine(@TempDir Path empty) {
        assertThat(incidents(empty))
                .satisfiesExactly(
                        refusal -> assertThat(refusal)
                                .startsWith(
                                        "palisade chaos postgresql: there is no PostgreSQL 13 or newer, neither on the PATH"),
                        code -> assertThat(code).isEqualTo("exit code 3"));
    }
}
