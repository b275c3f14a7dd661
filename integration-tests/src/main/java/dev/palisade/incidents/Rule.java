package dev.palisade.incidents;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * A rule by which tokens are minted, as the text of a library of functions: the whole rule, or one edit of it that makes it weaker, in
 * which the run must find something.
 */
record Rule(String code) {
    /** All of it. */
    static Rule whole() {
        try (InputStream text = Rule.class.getResourceAsStream("/incidents/tokens.lua")) {
            return new Rule(new String(Objects.requireNonNull(text).readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The rule with one passage in place of another.
     *
     * @throws IllegalStateException unless {@code passage} is there exactly once
     */
    Rule with(String passage, String other) {
        int at = code.indexOf(passage);
        if (at < 0 || code.indexOf(passage, at + 1) >= 0) {
            throw new IllegalStateException("not there exactly once: " + passage);
        }
        return new Rule(code.replace(passage, other));
    }
}
