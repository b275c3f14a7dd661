package dev.palisade.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The pages, as text. */
final class Docs {
    static final Path ROOT = Path.of(System.getProperty("palisade.root"));

    private Docs() {}

    static String page(String path) {
        try {
            return Files.readString(ROOT.resolve(path));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Every first group of {@code pattern} in the page. */
    static Set<String> all(String path, String pattern) {
        Set<String> found = new TreeSet<>();
        Matcher matcher = Pattern.compile(pattern, Pattern.MULTILINE).matcher(page(path));
        while (matcher.find()) {
            found.add(matcher.group(1));
        }
        return found;
    }
}
