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

/** {@code palisade faults timeline}. */
@Command(
        name = "timeline",
        description = {"Draws a history that was kept as one HTML file that needs nothing else.", ""},
        footer = {"", "Exit codes: 0 drawn, 2 wrong usage, 3 no such history."},
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
final class TimelineCommand implements Callable<Integer> {
    @Parameters(paramLabel = "DIR|FILE", description = "What a run left, or its history.jsonl.")
    private Path kept = Path.of("");

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Where to (timeline.html beside the history).")
    private @Nullable Path output;

    @Override
    public Integer call() throws CannotStart, IOException {
        Path history = ExplainCommand.history(kept).toAbsolutePath();
        Path file = output == null ? history.resolveSibling("timeline.html") : output;
        draw(history, file);
        System.out.println("palisade faults: drawn in " + file);
        return 0;
    }

    static void draw(Path history, Path file) throws IOException {
        Evidence evidence = Evidence.of(Histories.events(history));
        Picture.write("A fault run", evidence.events(), evidence.violations(), file);
    }
}
