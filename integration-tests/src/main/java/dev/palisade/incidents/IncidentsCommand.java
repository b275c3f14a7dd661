package dev.palisade.incidents;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.redis.RedisBinary;
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

/** {@code palisade incidents}. */
@Command(
        name = "incidents",
        description = {
            "Does to a Redis and its replicas what happens to them in use, while tokens are taken, and counts what that does to the "
                    + "tokens of each issuer: kills, losses of power, old backups, lagging replicas, split brains, clocks.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 as it must be, 1 a sound issuer has a violation or a wrong one none, 2 wrong usage, 3 could not run.",
        },
        subcommands = SumCommand.class,
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
final class IncidentsCommand implements Callable<Integer> {
    private static final int SECONDS_MAX = 86_400;
    private static final int INCIDENTS_MAX = 1_000_000;

    @Option(
            names = "--incidents",
            paramLabel = "N",
            description = "How many for each issuer (every kind once, unless --seconds is given).")
    private int incidents;

    @Option(names = "--seconds", paramLabel = "N", description = "How long for each issuer, instead.")
    private int seconds;

    @Option(
            names = "--seed",
            paramLabel = "N",
            description = "Chooses the incidents, their order and how they happen (a new one each time).")
    private @Nullable Long seed;

    @Option(
            names = "--against",
            paramLabel = "NAME",
            split = ",",
            description = "Whose tokens: ${COMPLETION-CANDIDATES} (all).",
            completionCandidates = SubjectNames.class)
    private List<String> against = Subject.all().stream().map(Subject::name).toList();

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Where the record is left; new or empty (a directory for temporary files).")
    private @Nullable Path out;

    @Option(names = "--resume", paramLabel = "DIR", description = "Goes on with the run that was left there.")
    private @Nullable Path resume;

    @Option(
            names = "--only",
            hidden = true,
            split = ",",
            description = "Kinds of incidents. For the command's own test.")
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

    @Override
    public Integer call() throws CannotStart, IOException {
        require(seconds >= 0 && seconds <= SECONDS_MAX, "--seconds is " + seconds + "; use 0 to " + SECONDS_MAX);
        require(
                incidents >= 0 && incidents <= INCIDENTS_MAX,
                "--incidents is " + incidents + "; use 0 to " + INCIDENTS_MAX);
        require(incidents == 0 || seconds == 0, "--incidents and --seconds are two ways to say it; use one");
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
        System.out.println(
                "palisade incidents: seed " + state.seed() + ", against " + String.join(", ", state.against()) + "; by "
                        + RedisBinary.find() + "; everything is left in " + directory);
        try {
            return Verdict.tell(new IncidentRun(directory, System.out, state).run());
        } catch (ScenarioFailed | IllegalStateException | UncheckedIOException e) {
            throw new CannotStart(
                    "the run broke off: " + e.getMessage() + "; go on: ./palisade incidents --resume " + directory);
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
            System.out.println("palisade incidents: " + leftOut);
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
