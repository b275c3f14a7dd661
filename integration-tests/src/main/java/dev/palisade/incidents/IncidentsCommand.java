package dev.palisade.incidents;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade chaos redis} and {@code palisade chaos postgresql}: what both have. */
abstract class IncidentsCommand<N extends Node> implements Callable<Integer> {
    private static final int SECONDS_MAX = 86_400;
    private static final int INCIDENTS_MAX = 1_000_000;

    private final StoreUnderTest<N> store;

    @Option(
            names = "--incidents",
            paramLabel = "N",
            description = "Number of incidents for each issuer (default: every kind once, unless --seconds is given).")
    private int incidents;

    @Option(names = "--seconds", paramLabel = "N", description = "Time for each issuer, instead of --incidents.")
    private int seconds;

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Chooses the incidents, their order and their details (default: random).")
    private @Nullable Long seed;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Output directory, new or empty (default: a temporary directory).")
    private @Nullable Path out;

    @Option(names = "--resume", paramLabel = "DIR", description = "Continues the run in this output directory.")
    private @Nullable Path resume;

    @Option(
            names = "--only",
            hidden = true,
            split = ",",
            description = "Kinds of incidents. For the test of this command.")
    private @Nullable List<String> only;

    @Spec
    private @Nullable CommandSpec spec;

    IncidentsCommand(StoreUnderTest<N> store) {
        this.store = store;
    }

    StoreUnderTest<N> store() {
        return store;
    }

    /** The issuers asked for; null: all. */
    abstract @Nullable List<String> against();

    /** The program that is started as a store, in words. */
    abstract String program() throws CannotStart;

    /** The reason why incidents that need a preloaded library are impossible here; empty if they are not. */
    abstract Optional<String> preloadMissing();

    @Override
    public Integer call() throws CannotStart, IOException {
        require(seconds >= 0 && seconds <= SECONDS_MAX, "--seconds is " + seconds + "; use 0 to " + SECONDS_MAX);
        require(
                incidents >= 0 && incidents <= INCIDENTS_MAX,
                "--incidents is " + incidents + "; use 0 to " + INCIDENTS_MAX);
        require(incidents == 0 || seconds == 0, "--incidents and --seconds exclude each other; use one of them");
        for (String name : issuers()) {
            require(
                    store.issuer(name).isPresent(),
                    "--against has '" + name + "'; use "
                            + String.join(
                                    ",",
                                    store.issuers().stream()
                                            .map(IssuerUnderTest::name)
                                            .toList()));
        }
        String program = program();
        Path directory;
        State state;
        if (resume == null) {
            List<Incident<N>> kinds = possible();
            directory = directory();
            state = begin(kinds);
        } else {
            directory = resume.toAbsolutePath().normalize();
            state = load(directory);
        }
        System.out.println(store.command() + ": seed " + state.seed() + ", against "
                + String.join(", ", state.against()) + "; by " + program + "; output in " + directory);
        try {
            return RunReport.print(new IncidentRun<>(store, directory, System.out, state).run(), store);
        } catch (ScenarioFailed | IllegalStateException | UncheckedIOException e) {
            throw new CannotStart("the run was aborted: " + e.getMessage() + "; continue: " + Installation.launcher()
                    + " chaos " + store.name() + " --resume " + directory);
        }
    }

    private List<String> issuers() {
        List<String> named = against();
        return named == null
                ? store.issuers().stream().map(IssuerUnderTest::name).toList()
                : named;
    }

    /** A run goes on with all of its kinds of incidents or not at all: with fewer, the seed would choose others. */
    private State load(Path directory) throws CannotStart, IOException {
        State state = State.load(directory, store);
        Optional<String> missing = preloadMissing();
        List<Incident<N>> preloaded = state.kinds().stream()
                .map(kind -> store.incident(kind).orElseThrow())
                .filter(Incident::needsPreload)
                .toList();
        if (missing.isPresent() && !preloaded.isEmpty()) {
            throw new CannotStart("the run in " + directory + " cannot go on here (" + missing.get()
                    + "): its incidents include " + preloaded);
        }
        return state;
    }

    private List<Incident<N>> kinds() {
        if (only == null) {
            return store.incidents();
        }
        for (String name : only) {
            require(store.incident(name).isPresent(), "--only has '" + name + "', which is no kind of incident");
        }
        return only.stream().map(name -> store.incident(name).orElseThrow()).toList();
    }

    private List<Incident<N>> possible() throws CannotStart {
        List<Incident<N>> kinds = kinds();
        Optional<String> missing = preloadMissing();
        List<Incident<N>> possible = kinds.stream()
                .filter(kind -> missing.isEmpty() || !kind.needsPreload())
                .toList();
        if (possible.size() < kinds.size()) {
            String leftOut = "left out (" + missing.orElseThrow() + "): "
                    + kinds.stream().filter(Incident::needsPreload).toList();
            if (possible.isEmpty()) {
                throw new CannotStart("nothing to run; " + leftOut);
            }
            System.out.println(store.command() + ": " + leftOut);
        }
        return possible;
    }

    private State begin(List<Incident<N>> kinds) {
        long chosen = seed == null ? System.nanoTime() % 1_000_000 : seed;
        int number = incidents == 0 && seconds == 0 ? kinds.size() : incidents;
        return new State(chosen, kinds.stream().map(Incident::name).toList(), number, seconds, issuers(), Map.of());
    }

    private Path directory() throws IOException, CannotStart {
        if (out == null) {
            return Files.createTempDirectory("palisade-incidents-");
        }
        Path directory = Files.createDirectories(out).toAbsolutePath().normalize();
        try (var files = Files.list(directory)) {
            if (files.findAny().isPresent()) {
                throw new CannotStart("--out " + out + " is not empty; name a new directory, or --resume " + out);
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
