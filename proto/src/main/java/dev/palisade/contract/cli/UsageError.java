package dev.palisade.contract.cli;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** What is wrong with a command line, in one plain line: the parser speaks of indexes and Java types. */
final class UsageError {
    private static final int SHOWN_MAX = 80;
    private static final int MESSAGE_MAX = 300;

    private UsageError() {}

    static String line(ParameterException misuse) {
        if (misuse instanceof UnmatchedArgumentException unmatched
                && !unmatched.getUnmatched().isEmpty()) {
            return unmatched(unmatched);
        }
        if (misuse instanceof MissingParameterException missing
                && !missing.getMissing().isEmpty()) {
            return missing(missing);
        }
        if (misuse instanceof OverwrittenOptionException twice) {
            return name(twice.getOverwritten()) + " is given twice; give it once";
        }
        if (misuse.getArgSpec() != null && misuse.getValue() != null) {
            return value(misuse);
        }
        return misuse instanceof WrongSettings wrong ? wrong.told() : shortened(misuse.getMessage());
    }

    private static String unmatched(UnmatchedArgumentException misuse) {
        String first = misuse.getUnmatched().get(0);
        if (!misuse.isUnknownOption()) {
            return "unexpected argument '" + shown(first) + "'";
        }
        String option = first.split("=", 2)[0];
        Set<String> options =
                misuse.getCommandLine().getCommandSpec().optionsMap().keySet();
        String guess = Suggestion.of(option, options)
                .map(meant -> "; did you mean " + meant + "?")
                .orElse("");
        return "there is no option " + shown(option) + guess;
    }

    private static String missing(MissingParameterException misuse) {
        ArgSpec first = misuse.getMissing().get(0);
        if (!first.isOption() && first.type().isEnum()) {
            return "missing argument; use " + words(first);
        }
        String names =
                misuse.getMissing().stream().map(UsageError::name).distinct().collect(Collectors.joining(" and "));
        // The option itself may be there, and only what should follow it is not.
        boolean value = String.valueOf(misuse.getMessage()).contains("parameter for option");
        return names + (value ? " needs a value" : " is missing");
    }

    private static String value(ParameterException misuse) {
        ArgSpec argument = misuse.getArgSpec();
        String name = name(argument);
        String value = shown(misuse.getValue());
        Class<?> type = argument.type();
        if (type.isEnum()) {
            return (argument.isOption() ? name + " is '" : "unsupported argument '") + value + "'; use "
                    + words(argument);
        }
        if (type == int.class || type == long.class || type == Integer.class || type == Long.class) {
            return name + " is '" + value + "'; use a whole number";
        }
        if (misuse.getCause() instanceof TypeConversionException ours && ours.getMessage() != null) {
            return name + ": " + ours.getMessage();
        }
        return shortened(misuse.getMessage());
    }

    /** The values of an enum, such as {@code list, add or retire}, in the spelling of the argument's label. */
    private static String words(ArgSpec argument) {
        List<String> words = argument.paramLabel().contains("|")
                ? List.of(argument.paramLabel().split("\\|"))
                : Arrays.stream(argument.type().getEnumConstants())
                        .map(Object::toString)
                        .toList();
        int last = words.size() - 1;
        return last == 0 ? words.get(0) : String.join(", ", words.subList(0, last)) + " or " + words.get(last);
    }

    private static String name(ArgSpec argument) {
        return argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
    }

    /** What a user wrote, in a message: the first line, and no more than 80 characters of it. */
    static String shown(String text) {
        return cut(text, SHOWN_MAX);
    }

    /** A message of the parser, which repeats what a user wrote: its first line, and no more than 300 characters of it. */
    static String shortened(@Nullable String message) {
        return cut(String.valueOf(message), MESSAGE_MAX);
    }

    private static String cut(String text, int max) {
        String line = text.lines().findFirst().orElse("");
        return line.length() <= max ? line : line.substring(0, max) + "...";
    }
}
