package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.chaos.Main;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * {@code palisade chaos redis}, short: what it says, its exit codes, and that it goes on. {@link IncidentIT} has the
 * incidents.
 */
@Execution(ExecutionMode.CONCURRENT)
class IncidentsCommandIT {
    private static final Duration TIMEOUT = Duration.ofMinutes(4);

    private final String seed = Long.toString(Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000));

    /** What it said, the last line of which is its exit code. */
    private static List<String> incidents(String... options) {
        return incidentsOn("", options);
    }

    /** On the Redis that comes by {@code way}; empty: the first that can be had. */
    private static List<String> incidentsOn(String way, String... options) {
        return chaos("redis", "palisade.redis.way=" + way, options);
    }

    /** What {@code palisade chaos STORE} said with that system property. */
    static List<String> chaos(String store, String property, String... options) {
        String root = System.getProperty(Installation.ROOT_PROPERTY);
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>&1", "sh"));
        command.addAll(Child.java(
                "-D" + Installation.ROOT_PROPERTY + "=" + root,
                "-D" + property,
                "-cp",
                root + "/integration-tests/target/palisade-demo.jar",
                Main.class.getName(),
                store));
        command.addAll(List.of(options));
        List<String> said = new ArrayList<>();
        try (Child run = Child.start("palisade chaos " + store, command, Map.of())) {
            run.awaitEnd(TIMEOUT);
            said.addAll(run.remainingOutput());
            said.add("exit code " + run.awaitExit());
        }
        said.forEach(System.out::println);
        return said;
    }

    @Test
    void ourServerHoldsAndRedissonDoesNot(@TempDir Path directory) {
        List<String> said = incidents(
                "--against",
                "palisade,redisson",
                "--only",
                "KILLED_KEEPING_NOTHING",
                "--seed",
                seed,
                "--out",
                directory.resolve("run").toString());
        assertThat(said).as("seed " + seed).endsWith("exit code 0");
        assertThat(said).anyMatch(line -> line.matches("palisade +1 +[1-9][\\d,]+ +\\d+ +0 +0 +0 +0 +\\d+ +0"));
        assertThat(said).noneMatch(line -> line.matches("redisson +1 .* 0 +0 +0 +0 +\\d+ +0"));
    }

    /** The bundled Redis takes no library of ours. Only incidents that need one are left out, and each is named. */
    @Test
    void incidentsThatNeedAPreloadedLibraryAreLeftOutByName(@TempDir Path directory) {
        assertThat(incidentsOn(
                        "bundled",
                        "--against",
                        "naive",
                        "--only",
                        "CLOCK_BACK,FLUSHED",
                        "--out",
                        directory.resolve("run").toString()))
                .anyMatch(line -> line.matches("palisade chaos redis: left out \\(.*\\): \\[clock an hour back]"))
                .anyMatch(line -> line.matches("naive +1 .*"))
                .endsWith("exit code 0");
        assertThat(incidentsOn("bundled", "--only", "CLOCK_BACK,POWER_LOST"))
                .satisfiesExactly(
                        refusal -> assertThat(refusal)
                                .startsWith("palisade chaos redis: nothing to run; left out (")
                                .endsWith("): [clock an hour back, loss of power, AOF everysec]"),
                        code -> assertThat(code).isEqualTo("exit code 3"));
    }

    @Test
    void aRunGoesOnAndRunsAreAddedUp(@TempDir Path directory) throws Exception {
        Path first = directory.resolve("first");
        Path second = directory.resolve("second");
        incidents(
                "--against",
                "naive",
                "--only",
                "FLUSHED",
                "--incidents",
                "2",
                "--seed",
                "1",
                "--out",
                first.toString());
        // As if it had been ended after the second of three.
        Path state = first.resolve("state.json");
        Files.writeString(state, Files.readString(state).replace("\"incidents\": 2", "\"incidents\": 3"));
        assertThat(incidents("--resume", first.toString())).anyMatch(line -> line.matches("naive +3 .*"));
        incidents(
                "--against",
                "naive",
                "--only",
                "FLUSHED",
                "--incidents",
                "1",
                "--seed",
                "2",
                "--out",
                second.toString());

        assertThat(incidents("sum", first.toString(), second.toString()))
                .contains("seeds [1, 2]")
                .anyMatch(line -> line.matches("naive +4 .*"));
        assertThat(incidents("sum", first.toString(), first.toString())).endsWith("exit code 3");
    }
}
