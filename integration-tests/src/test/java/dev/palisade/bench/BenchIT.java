package dev.palisade.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.NewerJdk;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Test that the benchmark runs, and of what it writes. Asserts no figure. First, because it takes longest: others run beside it. */
@Order(1)
@Execution(ExecutionMode.CONCURRENT)
class BenchIT {
    private static final String ROOT = System.getProperty("palisade.root", "");
    /** Starts and takeovers are most of a round of all parts. */
    private static final int ONE_ROUND = 1;

    private static final int ROUNDS = 2;

    @TempDir
    private Path directory;

    @Test
    void theShortestRunMeasuresEveryContestantOfEveryPart() throws Exception {
        JsonObject results;
        // The library does not wait for the disk, and a register refuses to keep marks so.
        try (EmbeddedPostgres postgres = PatientPostgres.builder()
                .setServerConfig("synchronous_commit", "on")
                .start()) {
            results = run(ONE_ROUND, "--peers", "--postgres", postgres.getJdbcUrl("postgres", "postgres"));
        }
        boolean virtual = NewerJdk.with("java").isPresent();
        boolean nginx = Nginx.command().isPresent();
        assertThat(results.getAsJsonArray("left_out")).hasSize((virtual ? 0 : 1) + (nginx ? 0 : 1));
        Set<String> parts = new TreeSet<>();
        for (JsonElement each : results.getAsJsonArray("comparisons")) {
            JsonObject comparison = each.getAsJsonObject();
            parts.add(comparison.get("part").getAsString());
            assertWhole(comparison);
        }
        Set<String> all =
                Arrays.stream(Part.values()).map(Part::toString).collect(Collectors.toCollection(TreeSet::new));
        if (!virtual) {
            all.remove(Part.VIRTUAL.toString());
        }
        assertThat(parts).isEqualTo(all);
        for (JsonElement goal : results.getAsJsonArray("goals")) {
            boolean measured = goal.getAsJsonObject().has("figure");
            String what = goal.getAsJsonObject().get("what").getAsString();
            assertThat(measured)
                    .as(goal.toString())
                    .isEqualTo((virtual || !what.contains("virtual")) && (nginx || !what.contains("nginx")));
        }
        assertThat(results.getAsJsonArray("goals")).hasSizeGreaterThan(40);
    }

    private static void assertWhole(JsonObject comparison) {
        String title = comparison.get("title").getAsString();
        JsonObject contestants = comparison.getAsJsonObject("contestants");
        Set<String> expected = new TreeSet<>(contestants.keySet());
        switch (comparison.get("part").getAsString()) {
            case "locks", "one-key", "hand-off" ->
                expected = palisadeAnd("Redisson RFencedLock", "Lettuce by hand", "PostgreSQL advisory lock");
            case "async", "virtual" -> expected = palisadeAnd("Redisson RFencedLock", "Lettuce by hand");
            case "idle", "start" -> expected = palisadeAnd();
            case "gateway" -> {
                expected = new TreeSet<>(
                        List.of(GatewayPart.DIRECT, GatewayPart.UNGUARDED, GatewayPart.GUARDED, GatewayPart.REGISTER));
                if (Nginx.command().isPresent()) {
                    expected.add(GatewayPart.NGINX);
                }
            }
            case "takeover" -> expected = Set.of("Palisade on Redis", "Palisade on PostgreSQL");
            case "names" -> expected = Set.of("Palisade, synced", "Palisade on Redis", "Palisade on PostgreSQL");
            default -> assertThat(expected).as(title).hasSizeGreaterThan(1);
        }
        assertThat(contestants.keySet()).as(title).isEqualTo(expected);
        contestants.asMap().forEach((name, series) -> {
            assertThat(series.getAsJsonObject().get("failed"))
                    .as(title + ", " + name)
                    .isNull();
            JsonArray rounds = series.getAsJsonObject().getAsJsonArray("rounds");
            assertThat(rounds).as(title + ", " + name).hasSize(ONE_ROUND);
            assertThat(StreamSupport.stream(rounds.spliterator(), false)
                            .map(round ->
                                    round.getAsJsonObject().get("operations").getAsLong()))
                    .as(title + ", " + name)
                    .allMatch(operations -> operations > 0);
        });
    }

    private static Set<String> palisadeAnd(String... peers) {
        Set<String> all = new TreeSet<>(List.of(peers));
        all.addAll(List.of(
                "Palisade, synced", "Palisade, durability=process", "Palisade on Redis", "Palisade on PostgreSQL"));
        return all;
    }

    /** Whole and not left out where there is one: on most laptops the first test has none. */
    @Test
    void nginxIsMeasuredBesideTheGateway() throws Exception {
        assumeTrue(Nginx.command().isPresent(), "no nginx on the PATH or in /usr/sbin");
        JsonObject results = run(ROUNDS, "gateway");
        assertThat(results.getAsJsonArray("comparisons")).hasSize(3);
        for (JsonElement each : results.getAsJsonArray("comparisons")) {
            JsonObject contestants = each.getAsJsonObject().getAsJsonObject("contestants");
            assertThat(contestants.keySet())
                    .containsExactlyInAnyOrder(
                            GatewayPart.DIRECT, GatewayPart.UNGUARDED, GatewayPart.GUARDED, GatewayPart.NGINX);
            contestants.asMap().forEach((name, series) -> {
                assertThat(series.getAsJsonObject().get("failed")).as(name).isNull();
                assertThat(series.getAsJsonObject().getAsJsonArray("rounds")).hasSize(ROUNDS);
            });
        }
        assertThat(results.getAsJsonArray("left_out")).hasSize(1);
    }

    @Test
    void aContestantThatFailsIsToldAndTheOthersAreMeasured() throws Exception {
        JsonObject results = run(
                ROUNDS, "locks", "--store", "synced", "--peers", "--postgres", "jdbc:postgresql://127.0.0.1:1/none");
        for (JsonElement each : results.getAsJsonArray("comparisons")) {
            JsonObject contestants = each.getAsJsonObject().getAsJsonObject("contestants");
            contestants.asMap().forEach((name, series) -> {
                JsonElement failed = series.getAsJsonObject().get("failed");
                if (name.startsWith("PostgreSQL")) {
                    assertThat(failed.getAsString()).contains("127.0.0.1:1").doesNotContain("\n");
                } else {
                    assertThat(failed).as(name).isNull();
                }
            });
            assertThat(contestants.keySet()).hasSize(4);
        }
    }

    private JsonObject run(int rounds, String... options) throws Exception {
        Path json = directory.resolve("bench.json");
        List<String> command = new ArrayList<>(List.of(ROOT + "/palisade", "bench"));
        command.addAll(List.of("--warm-up", "0s", "--round", "50ms", "--rounds", Integer.toString(rounds), "--small"));
        command.addAll(List.of("--json", json.toString()));
        command.addAll(List.of(options));
        // The figures do not count here: its processes start sooner with these.
        Map<String, String> quick = Map.of("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        try (Child bench = Child.start("palisade bench", command, quick)) {
            bench.awaitEnd(Duration.ofMinutes(8));
            assertThat(bench.awaitExit())
                    .as(() -> "it printed " + bench.remainingOutput())
                    .isZero();
        }
        return JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    }

    @Test
    void whatCannotBeMeasuredIsToldInOneLine() {
        try (Child bench =
                Child.start("palisade bench", List.of(ROOT + "/palisade", "bench", "--rounds", "0"), Map.of())) {
            assertThat(bench.awaitExit()).isEqualTo(2);
        }
    }
}
