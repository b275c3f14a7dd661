package dev.palisade.bench;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code palisade bench}. */
@Command(
        name = "bench",
        description = {
            "Measures locks, guard and gateway, and with --peers what would be used in their place: rounds of all contestants take turns, "
                    + "medians are reported.",
            "",
        },
        footer = {
            "",
            "What fails is left out and told. Exit codes: 0 measured, 2 wrong usage, 3 could not run.",
        },
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
final class BenchCommand implements Callable<Integer> {
    @Parameters(
            paramLabel = "PART",
            arity = "0..*",
            converter = Part.Named.class,
            completionCandidates = Part.Names.class,
            description = "What to measure: ${COMPLETION-CANDIDATES} (all).")
    private List<Part> parts = List.of(Part.values());

    @Option(
            names = "--store",
            paramLabel = "KIND",
            split = ",",
            description =
                    "Where lock servers keep their locks, each a contestant: synced, process, redis, postgresql (all).")
    private List<Store> stores = List.of(Store.values());

    @Option(names = "--peers", description = "Also Redisson, Lettuce and, with --postgres, PostgreSQL.")
    private boolean peers;

    @Option(
            names = "--redis",
            paramLabel = "URI",
            description = "A Redis that nobody else uses and that may be filled (one of its own).")
    private @Nullable String redis;

    @Option(
            names = "--postgres",
            paramLabel = "JDBC-URL",
            description =
                    "A PostgreSQL for --store postgresql, for --peers, with as many connections as callers, and for the register of gateway.")
    private @Nullable String postgres;

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
            defaultValue = "3",
            description = "How many rounds (${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--json", paramLabel = "FILE", description = "Also write every round's figures to this file.")
    private @Nullable Path json;

    @Option(names = "--small", hidden = true, description = "Few leases and names. For the command's own test.")
    private boolean small;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws Exception {
        require(count >= 1 && count <= 1_000, "--rounds " + count + " is not within 1 to 1000");
        require(!round.isZero(), "--round 0 measures nothing; use 1ms or more");
        Rounds rounds = new Rounds(warmUp, round, count);
        Report report = new Report(System.out, json, about());
        try (Services services = new Services(EnumSet.copyOf(stores), peers, redis, postgres, report::leaveOut)) {
            BenchRun run = new BenchRun(rounds, small ? Sizes.SMALL : Sizes.FULL, services, report);
            for (Part part : EnumSet.copyOf(parts)) {
                run.run(part);
            }
            services.redisVersion().ifPresent(version -> report.about("redis", version));
            report.end();
        } catch (ScenarioFailed e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        } catch (IOException e) {
            throw new CannotStart("a file cannot be written: " + e);
        }
        return 0;
    }

    private Map<String, String> about() throws IOException {
        return Map.of(
                "sizes",
                small ? "small, for a test: what is said of goals says nothing" : "full",
                "java",
                System.getProperty("java.vendor") + " " + Runtime.version(),
                "system",
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                "data on",
                Files.getFileStore(Path.of(System.getProperty("java.io.tmpdir")))
                        .type(),
                "processors",
                Integer.toString(Runtime.getRuntime().availableProcessors()),
                "rounds",
                count + " of " + DurationOption.text(round) + " after a warm-up of " + DurationOption.text(warmUp));
    }

    private void require(boolean right, String otherwise) {
        if (!right && spec != null) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }
}
