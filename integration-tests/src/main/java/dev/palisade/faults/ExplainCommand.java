package dev.palisade.faults;

import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade chaos explain}. */
@Command(
        name = "explain",
        description = {
            "Checks the recorded history of a run again, without starting processes, and explains each violation by the events "
                    + "around it.",
            "",
        },
        footer = {"", "Exit codes: 0 no violation, 1 a property was violated, 2 usage error, 3 no such history."},
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
public final class ExplainCommand implements Callable<Integer> {
    @Parameters(paramLabel = "DIR|FILE", description = "Output directory of a run, or its history.jsonl.")
    private Path input = Path.of("");

    @Option(
            names = "--most",
            paramLabel = "N",
            defaultValue = "10",
            description = "Number of violations to explain at most (${DEFAULT-VALUE}).")
    private int most;

    /** For the command line's parser. */
    public ExplainCommand() {}

    @Override
    public Integer call() throws CannotStart, IOException {
        Evidence evidence = Evidence.of(Histories.events(history(input)));
        List<String> violations = evidence.violations();
        Explanation explanation = new Explanation(evidence.events());
        violations.stream().limit(most).forEach(violation -> System.out.println(explanation.of(violation)));
        if (violations.size() > most) {
            System.out.println((violations.size() - most) + " more; see them with --most " + violations.size());
        }
        if (!evidence.isComplete()) {
            System.out.println("This run was aborted: P6, P7, P12, P14 and P15 are not checked.");
        }
        System.out.println(
                violations.size() + " violations in " + evidence.events().size() + " events");
        return violations.isEmpty() ? 0 : 1;
    }

    /** The file of a run's directory that has the events of all its processes. */
    static Path history(Path input) throws CannotStart {
        Path file = Files.isDirectory(input) ? input.resolve("history.jsonl") : input;
        if (!Files.isRegularFile(file)) {
            throw new CannotStart("there is no " + file + "; name the output directory of a run, or its history.jsonl");
        }
        return file;
    }
}
