package dev.palisade.bench;

import com.google.gson.GsonBuilder;
import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade bench}. */
@Command(
        name = "bench",
        description = {
            "Measures the guard, its parts and what would be used in its place: rounds take turns, medians are reported.",
            "",
        },
        footer = {"", "Exit codes: 0 measured, 2 wrong usage, 3 could not run."},
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
final class BenchCommand implements Callable<Integer> {
    @Option(
            names = "--warm-up",
            paramLabel = "TIME",
            defaultValue = "8s",
            converter = DurationOption.class,
            description = "Before anything is measured, each (${DEFAULT-VALUE}).")
    private Duration warmUp = Duration.ofSeconds(8);

    @Option(
            names = "--round",
            paramLabel = "TIME",
            defaultValue = "4s",
            converter = DurationOption.class,
            description = "How long one round of one contestant takes (${DEFAULT-VALUE}).")
    private Duration round = Duration.ofSeconds(4);

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "5",
            description = "How many rounds (${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--json", paramLabel = "FILE", description = "Also write every round's figures to this file.")
    private @Nullable Path json;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        require(count >= 1 && count <= 1_000, "--rounds " + count + " is not within 1 to 1000");
        require(!round.isZero(), "--round 0 measures nothing; use 1ms or more");
        Rounds rounds = new Rounds(warmUp, round, count);
        Path directory = Files.createTempDirectory("palisade-bench");
        Map<String, List<Measured>> results = new LinkedHashMap<>();
        try (Admissions admissions = new Admissions(directory.resolve("admissions"))) {
            results.putAll(measure("Admissions, one thread", rounds, admissions.contestants()));
        }
        try (GuardedCalls calls = new GuardedCalls(directory.resolve("calls"))) {
            results.putAll(measure(
                    "Unary gRPC calls, " + GuardedCalls.IN_FLIGHT + " in flight; CPU is the server's",
                    rounds,
                    calls.contestants()));
        } catch (ScenarioFailed e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
        delete(directory);
        if (json != null) {
            write(json, results);
        }
        return 0;
    }

    private void require(boolean right, String otherwise) {
        if (!right && spec != null) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }

    private static Map<String, List<Measured>> measure(String title, Rounds rounds, Map<String, Contestant> contestants)
            throws Exception {
        Map<String, List<Measured>> results = rounds.run(contestants, System.err);
        System.out.println();
        System.out.println(title);
        System.out.printf("  %-34s %14s %14s %14s%n", "", "per second", "CPU ns each", "CPU x last");
        List<Measured> last = new ArrayList<>();
        results.values().forEach(each -> {
            last.clear();
            last.addAll(each);
        });
        results.forEach((name, measured) -> System.out.printf(
                "  %-34s %,14.0f %,14.0f %14.3f%n", name, speed(measured), cpu(measured), cpu(measured) / cpu(last)));
        return results;
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(each);
            }
        }
    }

    private static double speed(List<Measured> rounds) {
        return Rounds.median(rounds.stream().map(Measured::perSecond).toList());
    }

    private static double cpu(List<Measured> rounds) {
        return Rounds.median(rounds.stream().map(Measured::cpuNanosEach).toList());
    }

    private static void write(Path file, Map<String, List<Measured>> results) throws CannotStart {
        try {
            Files.writeString(
                    file, new GsonBuilder().setPrettyPrinting().create().toJson(results));
        } catch (IOException | UncheckedIOException e) {
            throw new CannotStart("cannot write " + file + ": " + e);
        }
    }
}
