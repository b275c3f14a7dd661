package dev.palisade.docs;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The pages, as text. */
final class Docs {
    static final Path ROOT = Path.of(System.getProperty("palisade.root"));

    private Docs() {}

    /** README, CHANGELOG, SECURITY and every page below {@code docs}, as paths from the root. */
    static List<String> pages() {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of("README.md", "CHANGELOG.md", "SECURITY.md"),
                            docs.filter(page -> page.toString().endsWith(".md"))
                                    .map(page -> ROOT.relativize(page).toString())
                                    .sorted())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String resource(String name) {
        try (InputStream in = Objects.requireNonNull(Docs.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

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
