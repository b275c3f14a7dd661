package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import dev.palisade.chaos.Main;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * {@code palisade chaos run}, as short as it can be: every kind of fault once. Longer, or again: by the command itself, which tells how.
 */
@Isolated("Many clients at full speed: beside others too little happens between two faults.")
class RandomRunIT {
    private static final Duration PATIENCE = Duration.ofMinutes(4);

    private static final int RUNS_MAX = 3;

    private final long seed = Long.getLong("palisade.fault.seed", System.nanoTime() % 1_000_000);

    /** What it said, the last line of which is its exit code. */
    static List<String> faults(String... options) {
        String root = System.getProperty(Installation.ROOT_PROPERTY);
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>&1", "sh"));
        command.addAll(Child.java(
                "-D" + Installation.ROOT_PROPERTY + "=" + root,
                "-cp",
                root + "/integration-tests/target/palisade-demo.jar",
                Main.class.getName()));
        command.addAll(List.of(options));
        List<String> said = new ArrayList<>();
        try (Child run = Child.start("palisade chaos", command, Map.of())) {
            run.awaitEnd(PATIENCE);
            said.addAll(run.remainingOutput());
            said.add("exit code " + run.awaitExit());
        }
        return said;
    }

    static String[] to(Path directory, String... options) {
        List<String> all = new ArrayList<>(List.of("run", "--out", directory.toString(), "--seconds", "0"));
        all.addAll(List.of(options));
        return all.toArray(new String[0]);
    }

    /** A run, made again with the next seed, up to twice, if all that is wrong with it is that it proves nothing. */
    private List<String> telling(Path directory, String... options) {
        List<String> said = List.of();
        for (int run = 0; run == 0 || (run < RUNS_MAX && provesNothing(said)); run++) {
            List<String> all = new ArrayList<>(List.of("--seed", Long.toString(seed + run)));
            all.addAll(List.of(options));
            said = faults(to(directory.resolve("run" + run), all.toArray(new String[0])));
            said.forEach(System.out::println);
        }
        return said;
    }

    private static boolean provesNothing(List<String> said) {
        List<String> failed =
                said.stream().filter(line -> line.startsWith("FAILED")).toList();
        return !failed.isEmpty() && failed.stream().allMatch(line -> line.startsWith("FAILED: VACUOUS"));
    }

    @Test
    void underEveryKindOfFaultNothingIsWrong(@TempDir Path directory) throws Exception {
        List<String> said = telling(directory);
        Path kept = newest(directory);

        assertThat(said)
                .as("seed " + seed)
                .noneMatch(line -> line.startsWith("FAILED"))
                .endsWith("exit code 0");
        String page = Files.readString(kept.resolve("timeline.html"));
        assertThat(page).doesNotContain("http://", "https://", "src=", "@import");
        String data = page.substring(page.indexOf("id=\"data\">") + "id=\"data\">".length());
        assertThat(JsonParser.parseString(data.substring(0, data.indexOf("</script>")))
                        .getAsJsonObject()
                        .getAsJsonArray("events"))
                .hasSizeGreaterThan(300);
    }

    private static Path newest(Path directory) throws IOException {
        try (Stream<Path> runs = Files.list(directory)) {
            return runs.max(Comparator.naturalOrder()).orElseThrow();
        }
    }

    @Test
    void withTheLocksInRedisAndRedisHarmedTooNothingIsWrong(@TempDir Path directory) {
        List<String> said = telling(directory, "--store", "own");

        assertThat(said)
                .as("seed " + seed)
                .noneMatch(line -> line.startsWith("FAILED"))
                .anyMatch(line -> line.matches(" +EMPTY_REDIS +[1-9][0-9]*"))
                .endsWith("exit code 0");
    }

    @Test
    void withTheGuardOffItIsCaughtAndExplained(@TempDir Path directory) {
        Path kept = directory.resolve("run");
        List<String> said =
                faults(to(kept, "--seed", Long.toString(seed), "--guard", "off", "--only", "PAUSE_CLIENTS"));

        assertThat(said)
                .as("seed " + seed)
                .anyMatch(line -> line.startsWith("FAILED: P6: ") || line.startsWith("FAILED: P7: "))
                .anyMatch(line -> line.contains("again:   ./palisade chaos run --seed " + seed + " "))
                .anyMatch(line -> line.contains("explain: ./palisade chaos explain " + kept))
                .endsWith("exit code 1");
        // All of them: the first may be about forged tokens, which this guard admits too.
        assertThat(faults("explain", kept.toString(), "--most", "1000"))
                .anyMatch(line -> line.startsWith("  rule P"))
                .anyMatch(line -> line.contains("fault=PAUSE_CLIENTS"))
                .endsWith("exit code 1");
    }
}
