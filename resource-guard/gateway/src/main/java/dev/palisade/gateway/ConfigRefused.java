package dev.palisade.gateway;

import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.TerminalEscape;
import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;

/** Refusal of a config file: one line for each of its mistakes. */
final class ConfigRefused extends Exception {
    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial")
    private final List<String> lines;

    ConfigRefused(List<String> lines) {
        super(String.join("\n", lines));
        this.lines = List.copyOf(lines);
    }

    List<String> lines() {
        return lines;
    }

    /** Prints the lines on the standard error of {@code command} and returns its exit code. */
    int report(CommandSpec command) {
        return report(command, Commands.USAGE);
    }

    /** The same, with another exit code. */
    int report(CommandSpec command, int exitCode) {
        PrintWriter err = command.commandLine().getErr();
        lines.forEach(line -> err.println(command.qualifiedName() + ": " + TerminalEscape.text(line)));
        err.flush();
        return exitCode;
    }
}
