package dev.palisade.cli;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Version;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code palisade completion}: a script that completes verbs and options. */
@Command(
        name = "completion",
        description = "Prints a completion script for bash and zsh.",
        footer = {"", "Example, in ~/.bashrc or ~/.zshrc:", "  source <(palisade completion bash)"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class CompletionCommand implements Callable<Integer> {
    /** One script serves both: it turns on zsh's support of bash completions itself. */
    enum Shell {
        BASH,
        ZSH
    }

    @Parameters(index = "0", paramLabel = "bash|zsh", description = "The shell.")
    Shell shell = Shell.BASH;

    @Override
    public Integer call() {
        System.out.print(AutoComplete.bash("palisade", Verbs.all()));
        return ExitCodes.OK;
    }
}
