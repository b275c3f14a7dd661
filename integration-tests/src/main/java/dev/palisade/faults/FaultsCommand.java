package dev.palisade.faults;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.picture.Picture;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade chaos run}. */
@Command(
        name = "run",
        description = {
            "Runs client processes under faults that a seed chooses, several at once, and checks the recorded history: "
                    + "stopped and killed clients, frozen, slow and cut links, killed lock servers and object stores.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 no violation, 1 a property was violated or the run proves nothing, 2 usage error, 3 could not run.",
        },
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
public final class FaultsCommand implements Callable<Integer> {
    private static final int CLIENTS_MIN = 8;
    private static final int CLIENTS_MAX = 16;
    private static final int SECONDS_MAX = 86_400;
    private static final String OWN = "own";

    @Option(
            names = "--seconds",
            paramLabel = "N",
            defaultValue = "1800",
            description = "How long faults are injected; each kind is injected at least once (${DEFAULT-VALUE}).")
    private int seconds;

    @Option(names = "--seed", paramLabel = "N", description = "Chooses the faults and their order (default: random).")
    private @Nullable Long seed;

    @Option(
            names = "--clients",
            paramLabel = "N",
            defaultValue = "8",
            description = "Client processes of six logical clients each, 8 to 16 (${DEFAULT-VALUE}).")
    private int clients;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Output directory, new or empty (default: a temporary directory).")
    private @Nullable Path out;

    @Option(
            names = "--guard",
            paramLabel = "on|off",
            defaultValue = "on",
            description =
                    "off: the object store admits every write, and the checkers must detect it (${DEFAULT-VALUE}).")
    private String guard = "";

    @Option(
            names = "--store",
            paramLabel = "own|URI",
            description =
                    "Two lock servers, of which one is active, keep the locks in Redis. own: a new Redis, which gets faults too; "
                            + "redis://...: that Redis, which gets none (default: one lock server and its data directory).")
    private @Nullable String store;

    @Option(
            names = "--only",
            hidden = true,
            split = ",",
            description = "Kinds of faults. For the test of this command.")
    private @Nullable List<Schedule.Kind> only;

    @Spec
    private @Nullable CommandSpec spec;

    /** For the command line's parser. */
    public FaultsCommand() {}

    @Override
    public Integer call() throws CannotStart, IOException, SQLException {
        require(clients >= CLIENTS_MIN && clients <= CLIENTS_MAX, "--clients is " + clients + "; use 8 to 16");
        require(seconds >= 0 && seconds <= SECONDS_MAX, "--seconds is " + seconds + "; use 0 to " + SECONDS_MAX);
        require(guard.equals("on") || guard.equals("off"), "--guard is '" + guard + "'; use on or off");
        require(
                store == null || store.equals(OWN) || isPlain(store),
                "--store is neither own nor a plain redis://[USER:PASSWORD@]HOST[:PORT]; the run stands between, so TLS, Sentinel and "
                        + "Cluster do not go");
        long chosen = seed == null ? System.nanoTime() % 1_000_000 : seed;
        Path directory = directory();
        System.out.println("palisade chaos run: seed " + chosen + ", " + clients + " clients, " + seconds + " s, guard "
                + guard + "; output in " + directory);
        try (Installation installation = Installation.at(directory)) {
            Path history = run(installation, chosen);
            return verdict(directory, history, chosen);
        } catch (ScenarioFailed e) {
            Histories.merge(directory.resolve("histories"), directory.resolve("history.jsonl"));
            System.out.println(again(directory, chosen));
            throw new CannotStart("the run was aborted: " + e.getMessage());
        }
    }

    private Path run(Installation installation, long chosen) throws IOException, SQLException {
        LockRedis redis = store == null ? null : redis(store, chosen);
        try (redis) {
            Optional<LockRedis> shared = Optional.ofNullable(redis);
            LockBackend backend = shared.map(LockRedis::backend).orElse(LockBackend.DATA_DIR);
            RandomRun.Plan plan = new RandomRun.Plan(
                    chosen,
                    clients,
                    Duration.ofSeconds(seconds),
                    guard.equals("on"),
                    only == null ? Schedule.Kind.of(backend) : only,
                    shared);
            return new RandomRun(installation, System.out, plan).run();
        }
    }

    /** Uses a key prefix of its own, so that data of an earlier run cannot be mistaken for data of this run. */
    private LockRedis redis(String uri, long chosen) {
        return uri.equals(OWN)
                ? LockRedis.startOwn()
                : LockRedis.at(URI.create(uri), "palisade-faults-" + chosen + "-" + System.currentTimeMillis());
    }

    private static boolean isPlain(String uri) {
        try {
            URI parsed = new URI(uri);
            return "redis".equals(parsed.getScheme()) && parsed.getHost() != null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private int verdict(Path directory, Path history, long chosen) throws IOException {
        Evidence evidence = Evidence.of(Histories.events(history));
        RunStatistics statistics = RunStatistics.of(evidence);
        List<String> violations = evidence.violations();
        Path picture = directory.resolve("timeline.html");
        Picture.write("A fault run", evidence.events(), violations, picture);
        System.out.print(statistics);
        System.out.println("  " + violations.size() + " violations");
        violations.stream().limit(20).forEach(violation -> System.out.println("FAILED: " + violation));
        statistics.missing().forEach(missing -> System.out.println("FAILED: " + missing));
        if (violations.isEmpty() && statistics.missing().isEmpty()) {
            System.out.println(
                    "No violations. Timeline: file://" + picture.toUri().getRawPath());
            return 0;
        }
        System.out.println(again(directory, chosen));
        return 1;
    }

    private String again(Path directory, long chosen) {
        return "  again:   " + Installation.launcher() + " chaos run --seed " + chosen
                + " --seconds " + seconds
                + " --clients " + clients + " --guard " + guard
                + (store == null ? "" : " --store " + (store.equals(OWN) ? OWN : "URI"))
                + System.lineSeparator()
                + "  explain: " + Installation.launcher() + " chaos explain " + directory + System.lineSeparator()
                + "  picture: file://"
                + directory.resolve("timeline.html").toUri().getRawPath();
    }

    private Path directory() throws IOException, CannotStart {
        if (out == null) {
            return Files.createTempDirectory("palisade-faults-");
        }
        Path directory = Files.createDirectories(out).toAbsolutePath().normalize();
        try (var files = Files.list(directory)) {
            if (files.findAny().isPresent()) {
                throw new CannotStart("--out " + out + " is not empty; name a new directory");
            }
        }
        return directory;
    }

    private void require(boolean right, String message) {
        if (!right) {
            if (spec == null) {
                throw new IllegalStateException("not parsed yet");
            }
            throw new ParameterException(spec.commandLine(), message);
        }
    }
}
