package dev.palisade.faults;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.picture.Picture;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade chaos timeline}. */
@Command(
        name = "timeline",
        description = {"Renders the recorded history of a run as one self-contained HTML file.", ""},
        footer = {"", "Exit codes: 0 written, 2 usage error, 3 no such history."},
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
public final class TimelineCommand implements Callable<Integer> {
    @Parameters(paramLabel = "DIR|FILE", description = "Output directory of a run, or its history.jsonl.")
    private Path input = Path.of("");

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Output file (default: timeline.html beside the history).")
    private @Nullable Path output;

    /** For the command line's parser. */
    public TimelineCommand() {}

    @Override
    public Integer call() throws CannotStart, IOException {
        Path history = ExplainCommand.history(input).toAbsolutePath();
        Path file = output == null ? history.resolveSibling("timeline.html") : output;
        draw(history, file);
        System.out.println(
                "palisade chaos: timeline written to file://" + file.toUri().getRawPath());
        return 0;
    }

    static void draw(Path history, Path file) throws IOException {
        Evidence evidence = Evidence.of(Histories.events(history));
        Picture.write("A fault run", evidence.events(), evidence.violations(), file);
    }
}
