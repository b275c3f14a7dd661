package dev.palisade.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.scenario.Child;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** That the benchmark runs and what it writes. Its figures are nobody's verdict. */
class BenchIT {
    private static final String ROOT = System.getProperty("palisade.root", "");

    @TempDir
    private Path directory;

    @Test
    void theShortestRunMeasuresEveryContestant() throws Exception {
        Path json = directory.resolve("bench.json");
        try (Child bench = Child.start(
                "palisade bench",
                List.of(
                        ROOT + "/palisade",
                        "bench",
                        "--warm-up",
                        "100ms",
                        "--round",
                        "200ms",
                        "--rounds",
                        "2",
                        "--json",
                        json.toString()),
                Map.of())) {
            assertThat(bench.awaitExit()).isZero();
        }
        JsonObject results = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
        assertThat(results.keySet()).contains("guard", "signature alone", "guarded", "unguarded");
        results.asMap().forEach((name, rounds) -> {
            assertThat(rounds.getAsJsonArray()).as(name).hasSize(2);
            rounds.getAsJsonArray()
                    .forEach(round -> assertThat(
                                    round.getAsJsonObject().get("operations").getAsLong())
                            .as(name)
                            .isPositive());
        });
    }

    @Test
    void whatCannotBeMeasuredIsToldInOneLine() {
        try (Child bench =
                Child.start("palisade bench", List.of(ROOT + "/palisade", "bench", "--rounds", "0"), Map.of())) {
            assertThat(bench.awaitExit()).isEqualTo(2);
        }
    }
}
