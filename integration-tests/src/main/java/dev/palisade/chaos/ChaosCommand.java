package dev.palisade.chaos;

import dev.palisade.chaos.abuse.AbuseCommand;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade chaos}: the parent of its subcommands. */
@Command(
        name = "chaos",
        description = "Harms a lock server on purpose and checks the documented bounds.",
        subcommands = AbuseCommand.class,
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
final class ChaosCommand implements Callable<Integer> {
    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() {
        if (spec == null) {
            throw new IllegalStateException("not parsed yet");
        }
        throw new ParameterException(spec.commandLine(), "no subcommand; use: palisade chaos abuse");
    }
}
