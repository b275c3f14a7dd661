package dev.palisade.cli;

import java.util.Arrays;
import java.util.Optional;

/**
 * A check for command-line arguments that Java could not decode. Java decodes arguments by the locale. Without a
 * locale, as under cron, {@code m\u00fcller} and {@code m\u00f6ller} would become the same lock name, so the command is
 * not executed.
 */
final class UndecodableArgs {
    private static final int ASCII_MAX = 127;
    private static final int REPLACED = 0xFFFD;

    private UndecodableArgs() {}

    /**
     * Returns an error of one line about the first such argument; empty if there is none.
     *
     * @param encoding with which Java decoded {@code args}
     */
    static Optional<String> error(String[] args, String encoding) {
        boolean isUtf8 = encoding.equalsIgnoreCase("UTF-8");
        return Arrays.stream(args)
                .filter(arg ->
                        arg.chars().anyMatch(character -> character == REPLACED || (character > ASCII_MAX && !isUtf8)))
                .findFirst()
                .map(arg -> "the argument '" + arg + "' cannot be read as UTF-8"
                        + (isUtf8 ? "; use UTF-8" : ": the locale is another; set LC_ALL=C.UTF-8"));
    }
}
