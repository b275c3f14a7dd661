package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every shell block of a page is run by {@code PagesIT}, or names the reason for which it is not. */
class PageStepTest {
    private static final Pattern TEST_NAME = Pattern.compile("\\b[A-Z]\\w+(?:IT|Test)\\b");

    @TestFactory
    Stream<DynamicTest> everyShellBlockHasAClass() {
        return Docs.pages().stream()
                .map(page -> DynamicTest.dynamicTest(page, () -> PageStep.of(page, Docs.page(page))));
    }

    @Test
    void testsThatRunAnOmittedBlockExist() throws IOException {
        Set<String> tests = new TreeSet<>();
        for (String module : List.of("integration-tests", "lock-server", "resource-guard/gateway")) {
            try (Stream<Path> files = Files.walk(Docs.ROOT.resolve(module).resolve("src/test/java"))) {
                files.map(file -> file.getFileName().toString().replace(".java", ""))
                        .forEach(tests::add);
            }
        }
        List<String> named = Docs.pages().stream()
                .flatMap(page -> PageStep.of(page, Docs.page(page)).stream())
                .filter(step -> step.kind() == PageStep.Kind.NOT_RUN)
                .flatMap(step -> TEST_NAME.matcher(step.name()).results().map(MatchResult::group))
                .toList();
        assertThat(named).contains("DemoIT", "CommandLineTest").isSubsetOf(tests);
    }

    @Test
    void stepsOfAPageAreFoundInOrder() {
        List<PageStep> steps = PageStep.of("page.md", """
                Some text:

                <!-- start -->
                ```sh
                ./palisade server
                ```

                ```
                palisade server: listening on 127.0.0.1:7600
                ```

                - An item:

                  <!-- run -->
                  ```sh
                  ls |
                    wc
                  ```

                  It prints nothing of interest.

                <!-- printed by the newest start -->
                ```
                stopped
                ```

                <!-- not run: needs Docker -->
                ```sh
                docker ps
                ```

                ```xml
                <project/>
                ```

                <!-- file: gateway.yaml -->
                ```yaml
                protects: items
                ```

                <!-- run -->
                ```sql
                DELETE FROM marks
                ```

                <!-- snippet: examples/Guard.java -->
                ```java
                guard();
                ```
                """);
        assertThat(steps)
                .extracting(PageStep::kind)
                .containsExactly(
                        PageStep.Kind.START,
                        PageStep.Kind.RUN,
                        PageStep.Kind.PRINTED,
                        PageStep.Kind.NOT_RUN,
                        PageStep.Kind.FILE,
                        PageStep.Kind.FILE,
                        PageStep.Kind.SQL,
                        PageStep.Kind.SNIPPET);
        assertThat(steps.get(0).shown()).containsExactly("palisade server: listening on 127.0.0.1:7600");
        assertThat(steps.get(0).at()).isEqualTo("page.md:5");
        assertThat(steps.get(1).text()).isEqualTo("ls |\n  wc");
        assertThat(steps.get(1).shown()).isEmpty();
        assertThat(steps.get(2).shown()).containsExactly("stopped");
        assertThat(steps.get(3).name()).isEqualTo("needs Docker");
        assertThat(steps.get(4).name()).isEqualTo("pom.xml");
        assertThat(steps.get(5).name()).isEqualTo("gateway.yaml");
        assertThat(steps.get(5).text()).isEqualTo("protects: items");
        assertThat(steps.get(6).text()).isEqualTo("DELETE FROM marks");
        assertThat(steps.get(7).name()).isEqualTo("examples/Guard.java");
    }

    @Test
    void blockWithoutAClassOrAReasonIsRejected() {
        for (String marker : List.of("", "<!-- ran -->\n", "<!-- not run: -->\n", "<!-- run -->\n\n")) {
            assertThatThrownBy(() -> PageStep.of("page.md", marker + "```sh\nls\n```\n"))
                    .as(marker)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("page.md:")
                    .hasMessageContaining("has no class");
        }
        assertThatThrownBy(() -> PageStep.of("page.md", "<!-- start -->\n```sql\nSELECT 1\n```\n"))
                .hasMessageContaining("has no class");
        assertThatThrownBy(() -> PageStep.of("page.md", "<!-- start -->\n```sh\nls\n```\n"))
                .hasMessageContaining("shows its output");
    }

    @Test
    void shownOutputStandsForLinesWithOtherNumbersAndTimes() {
        String shown = "you@laptop pid 6219  held  8.6 s ago (2026-11-23T07:14:11Z) in /home/you/.palisade ...";
        assertThat(ShownOutput.isLike(
                        shown,
                        "ci@b pid 123456 held 12 s ago (2027-01-01T00:00:00Z) in /tmp/x/.palisade and more",
                        "/tmp/x"))
                .isTrue();
        assertThat(ShownOutput.isLike("exit code 0", "exit code 1", "/tmp/x")).isFalse();
        assertThat(ShownOutput.isLike("demo: held", "demo: free", "/tmp/x")).isFalse();
        assertThat(ShownOutput.areLike(List.of("one", "two"), List.of("one", "", "two"), "/tmp/x"))
                .isTrue();
        assertThat(ShownOutput.areLike(List.of("one"), List.of("one", "two"), "/tmp/x"))
                .isFalse();
    }
}
