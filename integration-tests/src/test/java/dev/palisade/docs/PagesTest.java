package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Links lead somewhere, and the settings page names every setting. */
class PagesTest {
    private static final Pattern LINK = Pattern.compile("\\]\\((?!https?:|#)([^)#]+)[^)]*\\)");

    @TestFactory
    Stream<DynamicTest> everyLinkLeadsToAFile() throws IOException {
        try (Stream<Path> docs = Files.walk(Docs.ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(Docs.ROOT.resolve("README.md")),
                            docs.filter(page -> page.toString().endsWith(".md")).toList().stream())
                    .map(page ->
                            DynamicTest.dynamicTest(Docs.ROOT.relativize(page).toString(), () -> {
                                Matcher link = LINK.matcher(Files.readString(page));
                                while (link.find()) {
                                    assertThat(page.resolveSibling(link.group(1)))
                                            .exists();
                                }
                            }));
        }
    }

    @ParameterizedTest
    @CsvSource({"dev.palisade.server.ServerCommand, server", "dev.palisade.guard.objects.Main, objects"})
    void everySettingIsOnTheSettingsPage(String command, String name) throws ReflectiveOperationException {
        var constructor = Class.forName(command).getDeclaredConstructor();
        constructor.setAccessible(true);
        Set<String> options = new CommandLine(constructor.newInstance())
                .getCommandSpec().options().stream()
                        .map(option -> option.longestName())
                        .filter(option ->
                                !Set.of("--help", "--version", "--config").contains(option))
                        .collect(Collectors.toCollection(TreeSet::new));
        String page = Docs.page("docs/reference/settings.md");
        String section = page.substring(page.indexOf("## palisade " + name)).split("\n## ", 2)[0];
        for (String option : options) {
            assertThat(section).as("%s of palisade %s", option, name).contains("`" + option + "`");
        }
    }

    @Test
    void everyDecisionIsListed() throws IOException {
        try (Stream<Path> pages = Files.list(Docs.ROOT.resolve("docs/decisions"))) {
            Set<String> files = pages.map(page -> page.getFileName().toString())
                    .filter(page -> !page.equals("README.md"))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertThat(Docs.all("docs/decisions/README.md", "\\]\\(([^)]+)\\)")).isEqualTo(files);
        }
    }
}
