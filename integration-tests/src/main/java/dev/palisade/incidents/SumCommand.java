package dev.palisade.incidents;

import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;

/** {@code palisade chaos redis sum}, and that of the other stores. */
@Command(
        name = "sum",
        description = "Adds up the results of several runs.",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
final class SumCommand implements Callable<Integer> {
    @Parameters(arity = "1..*", paramLabel = "DIR", description = "Output directories of runs.")
    private List<Path> directories = List.of();

    @ParentCommand
    private @Nullable IncidentsCommand<?> parent;

    @Override
    public Integer call() throws CannotStart, IOException {
        if (parent == null) {
            throw new IllegalStateException("not parsed yet");
        }
        StoreUnderTest<?> store = parent.store();
        Map<String, IncidentStatistics> sum = new LinkedHashMap<>();
        Set<Long> seeds = new LinkedHashSet<>();
        for (Path directory : directories) {
            State state = State.load(directory, store);
            if (!seeds.add(state.seed())) {
                throw new CannotStart("seed " + state.seed() + " of " + directory
                        + " was in another of the directories; the same incidents count once");
            }
            state.against().forEach(name -> sum.merge(name, state.of(name), IncidentStatistics::plus));
        }
        System.out.println("seeds " + seeds);
        return RunReport.print(sum, store);
    }
}
