package dev.palisade.cli;

import java.util.Arrays;
import java.util.Optional;

/**
 * Arguments that Java did not read as they were written. It decodes them by the locale: without one, as under cron, {@code m\u00fcller} and
 * {@code m\u00f6ller} become the same lock, and a command would be given other arguments than were meant. Such a call is refused.
 */
final class Unread {
    private static final int ASCII_MAX = 127;
    private static final int REPLACED = 0xFFFD;

    private Unread() {}

    /**
     * Tells of the first, in one line.
     *
     * @param encoding by which Java decoded {@code args}
     */
    static Optional<String> among(String[] args, String encoding) {
        boolean readsAll = encoding.equalsIgnoreCase("UTF-8");
        return Arrays.stream(args)
                .filter(arg -> arg.chars()
                        .anyMatch(character -> character == REPLACED || (character > ASCII_MAX && !readsAll)))
                .findFirst()
                .map(arg -> "the argument '" + arg + "' cannot be read as UTF-8"
                        + (readsAll ? "; use UTF-8" : ": the locale is another; set LC_ALL=C.UTF-8"));
    }
}
