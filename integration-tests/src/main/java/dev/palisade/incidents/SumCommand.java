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
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code palisade chaos redis sum}. */
@Command(
        name = "sum",
        description = "Adds up the results of several runs.",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
final class SumCommand implements Callable<Integer> {
    @Parameters(arity = "1..*", paramLabel = "DIR", description = "Output directories of runs.")
    private List<Path> directories = List.of();

    @Override
    public Integer call() throws CannotStart, IOException {
        Map<String, Figures> sum = new LinkedHashMap<>();
        Set<Long> seeds = new LinkedHashSet<>();
        for (Path directory : directories) {
            State state = State.load(directory);
            if (!seeds.add(state.seed())) {
                throw new CannotStart("seed " + state.seed() + " of " + directory
                        + " was in another of the directories; the same incidents count once");
            }
            state.against().forEach(name -> sum.merge(name, state.of(name), Figures::plus));
        }
        System.out.println("seeds " + seeds);
        return Verdict.tell(sum);
    }
}
