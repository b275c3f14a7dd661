package dev.palisade.contract.cli;

import java.util.List;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** A refusal of misspelt names and unusable values of settings, all in one line. Each is cut to a length, so the line is told whole. */
final class WrongSettings extends ParameterException {
    private static final long serialVersionUID = 1L;

    /** A file that is no settings file has thousands. */
    private static final int SHOWN_MAX = 10;

    WrongSettings(CommandLine command, List<String> problems) {
        super(command, joined(problems));
    }

    /** The whole line. */
    String told() {
        return String.valueOf(getMessage());
    }

    private static String joined(List<String> problems) {
        int more = problems.size() - SHOWN_MAX;
        return problems.stream().limit(SHOWN_MAX).collect(Collectors.joining("; and "))
                + (more > 0 ? "; and " + more + " more" : "");
    }
}
