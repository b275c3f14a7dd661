package dev.palisade.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every Java snippet of the README and the docs is the marked part of an example that compiles. */
class SnippetsTest {
    private static final Path ROOT = Path.of(System.getProperty("palisade.root"));
    private static final Pattern JAVA =
            Pattern.compile("(?:<!-- snippet: (\\S+) -->\n *)?```java\n(.*?)\n *```", Pattern.DOTALL);
    private static final Pattern JAVADOC = Pattern.compile("<pre>\\{@code\n(.*?)\n \\* }</pre>", Pattern.DOTALL);
    private static final Pattern MARKED = Pattern.compile(" *// snippet\n(.*?)\n *// end\n", Pattern.DOTALL);

    @TestFactory
    Stream<DynamicTest> aSnippetIsTheExampleItNames() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (Path page : pages()) {
            Matcher snippet = JAVA.matcher(Files.readString(page));
            while (snippet.find()) {
                String source = snippet.group(1);
                String shown = snippet.group(2);
                tests.add(DynamicTest.dynamicTest(ROOT.relativize(page) + ": " + source, () -> {
                    assertThat(source)
                            .as("a snippet without an example:\n%s", shown)
                            .isNotNull();
                    assertThat(shown.stripIndent().strip()).isEqualTo(marked(ROOT.resolve(source)));
                }));
            }
        }
        return tests.stream();
    }

    @Test
    void theReadmeHasSnippets() throws IOException {
        assertThat(JAVA.matcher(Files.readString(ROOT.resolve("README.md"))).results())
                .hasSizeGreaterThanOrEqualTo(2);
    }

    @Test
    void theFrontPageOfTheSdkShowsTheExampleOfTheReadme() throws IOException {
        String page = Files.readString(ROOT.resolve("client-sdk/src/main/java/dev/palisade/client/package-info.java"));
        Matcher shown = JAVADOC.matcher(page);
        assertThat(shown.find()).as("a snippet").isTrue();
        String code = shown.group(1).replaceAll("(?m)^ \\*", "");
        assertThat(code.stripIndent().strip())
                .isEqualTo(
                        marked(ROOT.resolve("integration-tests/src/test/java/dev/palisade/examples/TakeALock.java")));
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> docs = Files.walk(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(ROOT.resolve("README.md")),
                            docs.filter(p -> p.toString().endsWith(".md")))
                    .sorted()
                    .toList();
        }
    }

    private static String marked(Path example) throws IOException {
        Matcher marked = MARKED.matcher(Files.readString(example));
        assertThat(marked.find()).as("%s has no marked part", example).isTrue();
        return marked.group(1).stripIndent().strip();
    }
}
