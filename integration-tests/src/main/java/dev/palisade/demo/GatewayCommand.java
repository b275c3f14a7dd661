package dev.palisade.demo;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.demo.PauseRace.Outcome;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;

/** {@code palisade demo gateway}. */
@Command(
        name = "gateway",
        description = {
            "Shows the pause race through palisade gateway, in front of an HTTP service that knows nothing of locks."
                    + " With the guard, the late write is refused.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 saw exactly that, 1 saw something else, 2 wrong usage, 3 could not run.",
        },
        sortOptions = false,
        usageHelpAutoWidth = true)
final class GatewayCommand implements Callable<Integer> {
    @SuppressWarnings("UnusedVariable")
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help and exit.")
    private boolean help;

    @ParentCommand
    private @Nullable DemoCommand demo;

    @Override
    public Integer call() throws CannotStart {
        DemoCommand parent = Objects.requireNonNull(demo);
        try (Installation installation = parent.installation()) {
            PauseRace race = new PauseRace(new Timeline(System.out));
            Outcome outcome = race.runThroughGateway(installation, !parent.unguarded);
            return parent.verdict(outcome, race.tokens(), "demo gateway") ? 0 : 1;
        } catch (ScenarioFailed e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }
}
