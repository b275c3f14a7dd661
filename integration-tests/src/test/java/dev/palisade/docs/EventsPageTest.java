package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each event that main code logs has a row in the guide for operators, and each row is of an event. */
class EventsPageTest {
    private static final Path ROOT = Path.of(System.getProperty(Installation.ROOT_PROPERTY));
    private static final Pattern LOGGED =
            Pattern.compile("\\b(?:tell|tellAlways|tellOf|tellOnce|warn|warnOnce|stop)\\(");
    private static final Pattern NAME = Pattern.compile("\"([a-z]+(?:_[a-z]+)*)\"");
    private static final Pattern ROW = Pattern.compile("^\\| ((?:`[a-z_]+`(?:, )?)+) \\|", Pattern.MULTILINE);

    /** Their names are made of those of the events of a lock, or are the method's own. */
    private static final Set<String> COMPOSED =
            Set.of("refused", "lease_expired", "lease_abandoned", "lease_force_released");

    private static Set<String> logged() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT)) {
            return files.filter(file -> file.toString().endsWith(".java")
                            && file.toString().contains("/src/main/java/")
                            && !file.toString().contains("integration-tests"))
                    .flatMap(EventsPageTest::logged)
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static Stream<String> logged(Path file) {
        String source;
        try {
            source = Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return source.contains("EventLog") || source.contains("package dev.palisade.guard;")
                ? LOGGED.matcher(source)
                        .results()
                        .flatMap(call -> NAME.matcher(firstArgument(source, call.end()))
                                .results()
                                .map(name -> name.group(1)))
                : Stream.empty();
    }

    private static String firstArgument(String source, int from) {
        int depth = 0;
        for (int i = from; i < source.length(); i++) {
            char c = source.charAt(i);
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            if (depth < 0 || (depth == 0 && c == ',')) {
                return source.substring(from, i);
            }
        }
        return "";
    }

    private static Set<String> documented() throws IOException {
        String page = Files.readString(ROOT.resolve("docs/guides/operate.md"));
        String events = page.substring(page.indexOf("\n### The events\n"), page.indexOf("\n## Locks in Redis\n"));
        Matcher rows = ROW.matcher(events);
        return rows.results()
                .map(MatchResult::group)
                .flatMap(row -> Pattern.compile("`([a-z_]+)`").matcher(row).results())
                .map(name -> name.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void everyEventHasARowAndEveryRowIsOfAnEvent() throws Exception {
        Set<String> logged = logged();
        assertThat(logged).hasSizeGreaterThan(40);
        logged.addAll(COMPOSED);
        assertThat(documented()).containsExactlyInAnyOrderElementsOf(logged);
    }
}
