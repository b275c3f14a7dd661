package dev.palisade.server.access;

import dev.palisade.contract.LockName;
import dev.palisade.contract.cli.Suggestion;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/** Rules for the lines of files that name locks, and their mistakes in words. */
final class PolicyText {
    private PolicyText() {}

    /** What no line may have: the traces of editors. */
    static Optional<String> encodingMistake(String line) {
        if (line.startsWith("\uFEFF")) {
            return Optional.of("the file begins with a byte order mark; save it as UTF-8 without one");
        }
        return line.indexOf('\r') >= 0
                ? Optional.of("the line has a carriage return, which some programs show as a line's end; remove it")
                : Optional.empty();
    }

    /** Why {@code pattern} is neither a lock name nor the beginning of one and {@code *}. */
    static Optional<String> patternMistake(String pattern) {
        int star = pattern.indexOf('*');
        if (star >= 0 && star < pattern.length() - 1) {
            return Optional.of("pattern '" + shown(pattern) + "' has a * before its end; a pattern is a lock name, or"
                    + " its beginning and *");
        }
        return pattern.getBytes(StandardCharsets.UTF_8).length > LockName.BYTES_MAX
                        || pattern.chars().anyMatch(Character::isISOControl)
                ? Optional.of("the pattern is no lock name; one has at most " + LockName.BYTES_MAX
                        + " bytes and no control characters")
                : Optional.empty();
    }

    /** The word that was perhaps meant, or else {@code use} and all words. */
    static String meant(String word, List<String> words, String use) {
        return Suggestion.of(word, words)
                .map(near -> "did you mean " + near + "?")
                .orElse(use + String.join(", ", words));
    }

    static String shown(String word) {
        return word.length() > 60 ? word.substring(0, 60) + "..." : word;
    }
}
