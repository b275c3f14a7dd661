package dev.palisade.incidents;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.redis.RedisBinary;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade chaos redis}. */
@Command(
        name = "redis",
        description = {
            "Injects real Redis failures while clients take tokens: crashes, power loss, old backups, lagging replicas, split "
                    + "brains, clock changes. Counts duplicate and decreasing tokens, for Palisade and for other lock libraries.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 as expected, 1 Palisade has a violation, 2 usage error, 3 could not run.",
        },
        subcommands = SumCommand.class,
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
public final class IncidentsCommand implements Callable<Integer> {
    private static final int SECONDS_MAX = 86_400;
    private static final int INCIDENTS_MAX = 1_000_000;

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
            names = "--against",
            paramLabel = "NAME",
            split = ",",
            description = "Token issuers: ${COMPLETION-CANDIDATES} (default: all).",
            completionCandidates = SubjectNames.class)
    private List<String> against = Subject.all().stream().map(Subject::name).toList();

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
    private @Nullable List<Incident> only;

    @Spec
    private @Nullable CommandSpec spec;

    /** The names that {@code --against} takes. */
    static final class SubjectNames implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Subject.all().stream().map(Subject::name).iterator();
        }
    }

    /** For the command line's parser. */
    public IncidentsCommand() {}

    @Override
    public Integer call() throws CannotStart, IOException {
        require(seconds >= 0 && seconds <= SECONDS_MAX, "--seconds is " + seconds + "; use 0 to " + SECONDS_MAX);
        require(
                incidents >= 0 && incidents <= INCIDENTS_MAX,
                "--incidents is " + incidents + "; use 0 to " + INCIDENTS_MAX);
        require(incidents == 0 || seconds == 0, "--incidents and --seconds exclude each other; use one of them");
        for (String name : against) {
            require(
                    Subject.named(name).isPresent(),
                    "--against has '" + name + "'; use " + String.join(",", new SubjectNames()));
        }
        Path directory;
        State state;
        if (resume == null) {
            directory = directory();
            state = begin();
        } else {
            directory = resume.toAbsolutePath().normalize();
            state = load(directory);
        }
        System.out.println("palisade chaos redis: seed " + state.seed() + ", against "
                + String.join(", ", state.against()) + "; by " + RedisBinary.find() + "; output in " + directory);
        try {
            return Verdict.tell(new IncidentRun(directory, System.out, state).run());
        } catch (ScenarioFailed | IllegalStateException | UncheckedIOException e) {
            throw new CannotStart("the run was aborted: " + e.getMessage() + "; continue: " + Installation.launcher()
                    + " chaos redis --resume " + directory);
        }
    }

    /** A run goes on with all of its kinds of incidents or not at all: with fewer, the seed would choose others. */
    private State load(Path directory) throws CannotStart, IOException {
        State state = State.load(directory);
        Optional<String> missing = Incident.preloadMissing();
        if (missing.isPresent() && state.kinds().stream().anyMatch(Incident::needsPreload)) {
            throw new CannotStart("the run in " + directory + " cannot go on here ("
                    + missing.get() + "): its incidents include "
                    + state.kinds().stream().filter(Incident::needsPreload).toList());
        }
        return state;
    }

    private State begin() throws CannotStart {
        long chosen = seed == null ? System.nanoTime() % 1_000_000 : seed;
        List<Incident> kinds = Arrays.asList(Incident.values());
        if (only != null) {
            kinds = only;
        }
        Optional<String> missing = Incident.preloadMissing();
        List<Incident> possible = kinds.stream()
                .filter(kind -> missing.isEmpty() || !kind.needsPreload())
                .toList();
        if (possible.size() < kinds.size()) {
            String leftOut = "left out (" + missing.orElseThrow() + "): "
                    + kinds.stream().filter(Incident::needsPreload).toList();
            if (possible.isEmpty()) {
                throw new CannotStart("nothing to run; " + leftOut);
            }
            System.out.println("palisade chaos redis: " + leftOut);
        }
        int number = incidents == 0 && seconds == 0 ? possible.size() : incidents;
        return new State(chosen, possible, number, seconds, against, Map.of());
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
