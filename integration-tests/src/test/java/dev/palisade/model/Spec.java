package dev.palisade.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import tlc2.TLC;

/**
 * One configuration of a TLA+ spec, and what its first line promises of it: {@code must break: Invariant} or
 * {@code at least n states}. Runs TLC in a JVM of its own, because TLC keeps static state and ends with System.exit; whatever
 * TLC writes goes to the given directory. Never judges: {@link SpecsTest} does.
 */
record Spec(String name, String promise, Path config) {
    static final Path ROOT = Path.of(System.getProperty("palisade.root"));

    private static final Path DIRECTORY = ROOT.resolve("integration-tests/src/test/tla");
    private static final long SECONDS_MAX = 120;

    /** What TLC came to: its exit code and all it said. */
    record Verdict(int exitCode, String output) {
        /** The first group of every match. */
        List<String> all(String pattern) {
            return Pattern.compile(pattern, Pattern.MULTILINE)
                    .matcher(output)
                    .results()
                    .map(match -> match.group(1))
                    .toList();
        }
    }

    static List<Spec> all() {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            return files.filter(file -> file.toString().endsWith(".cfg"))
                    .sorted()
                    .map(Spec::of)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Spec of(Path config) {
        String name = config.getFileName().toString().replace(".cfg", "");
        return new Spec(name, text(config).lines().findFirst().orElse(""), config);
    }

    /** The name of the spec: {@code Admission} of {@code Admission-NoDrain}. */
    String module() {
        return name.split("-", 2)[0];
    }

    /** The invariant that has to be found broken; empty: none may be. */
    String breaks() {
        return one("must break: (\\w+)");
    }

    int statesMin() {
        return Integer.parseInt(one("at least (\\d+) states"));
    }

    private String one(String pattern) {
        Matcher matcher = Pattern.compile("\\\\\\* " + pattern).matcher(promise);
        return matcher.matches() ? matcher.group(1) : "";
    }

    /** The names after {@code INVARIANTS}. */
    Set<String> invariants() {
        return words("(?s)INVARIANTS (.*)", text(config));
    }

    /** The steps that are never possible here: the configuration leaves them to others. */
    Set<String> without() {
        String text = text(config);
        return text.contains("without: ") ? words("without: (.*)", text) : Set.of();
    }

    /** The rules that this configuration turns off. */
    Set<String> off() {
        return words("Off = \\{(.*)\\}", text(config));
    }

    /** The rules that the spec knows. */
    Set<String> rules() {
        String spec = text(DIRECTORY.resolve(module() + ".tla")).replaceAll("\\\\\\*.*", "");
        return words("Rules == \\{([^}]*)\\}", spec);
    }

    private static Set<String> words(String pattern, String text) {
        Matcher list = Pattern.compile(pattern).matcher(text);
        assertThat(list.find()).as("%s in:%n%s", pattern, text).isTrue();
        Set<String> words = new TreeSet<>();
        Pattern.compile("\\w+").matcher(list.group(1)).results().forEach(word -> words.add(word.group()));
        return words;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Has TLC try every state, with everything it writes below {@code directory}. */
    Verdict check(Path directory) throws IOException, InterruptedException {
        Path work = Files.createDirectories(directory.resolve(name));
        Path output = work.resolve("output.txt");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "-Djava.io.tmpdir=" + work,
                "-cp",
                jar().toString(),
                TLC.class.getName(),
                "-workers",
                "1", // More of them wait for each other, and the processors have other tests to run.
                "-metadir",
                work.toString(),
                "-config",
                config.toString()));
        if (breaks().isEmpty()) {
            // Count every kind of step, and say so every so many minutes.
            command.addAll(List.of("-coverage", "5"));
        }
        command.add(config.resolveSibling(module() + ".tla").toString());
        Process tlc = new ProcessBuilder(command)
                .directory(work.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(tlc.waitFor(SECONDS_MAX, TimeUnit.SECONDS))
                    .as("%s: TLC is not done after %d s", name, SECONDS_MAX)
                    .isTrue();
            return new Verdict(tlc.exitValue(), Files.readString(output));
        } finally {
            tlc.destroyForcibly().waitFor();
        }
    }

    private static Path jar() {
        try {
            return Path.of(TLC.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
