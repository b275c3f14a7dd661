package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
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

/** Links lead somewhere, prose keeps the rules of the house, and the settings page names every setting. */
class PagesTest {
    private static final Pattern LINK = Pattern.compile("\\]\\((?!https?:)([^)#]*)(?:#([^)]*))?\\)");
    private static final int WORDS_MAX = 35;
    private static final double WORDS_ON_AVERAGE_MAX = 20;

    /** Pages of the past: what they say is not a user's to read. */
    private static boolean isDecision(String page) {
        return page.startsWith("docs/decisions/");
    }

    private static Stream<DynamicTest> eachPage(Consumer<String> check) {
        return Docs.pages().stream().map(page -> DynamicTest.dynamicTest(page, () -> check.accept(page)));
    }

    @TestFactory
    Stream<DynamicTest> everyLinkLeadsToAFileAndAnAnchor() {
        return eachPage(page -> {
            Matcher link = LINK.matcher(Docs.page(page));
            while (link.find()) {
                Path target = link.group(1).isEmpty()
                        ? Docs.ROOT.resolve(page)
                        : Docs.ROOT.resolve(page).resolveSibling(link.group(1)).normalize();
                assertThat(target).exists();
                if (link.group(2) != null) {
                    assertThat(Prose.of(Docs.page(Docs.ROOT.relativize(target).toString()))
                                    .anchors())
                            .as(link.group())
                            .contains(link.group(2));
                }
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> linesOutsideTablesHaveAtMost120Columns() {
        return eachPage(
                page -> assertThat(Prose.of(Docs.page(page)).longLines()).isEmpty());
    }

    @TestFactory
    Stream<DynamicTest> sentencesAreShort() {
        return eachPage(page -> {
            List<Prose.Sentence> sentences = Prose.of(Docs.page(page)).sentences();
            assertThat(sentences).allMatch(sentence -> sentence.words() <= WORDS_MAX);
            assertThat(sentences.stream()
                            .filter(sentence -> !sentence.inTable())
                            .mapToInt(Prose.Sentence::words)
                            .average()
                            .orElse(0))
                    .as("words of a sentence, on average")
                    .isLessThanOrEqualTo(WORDS_ON_AVERAGE_MAX);
        });
    }

    @TestFactory
    Stream<DynamicTest> wordsAreThoseOfTheField() {
        return eachPage(page -> assertThat(
                        isDecision(page)
                                ? List.of()
                                : Prose.of(Docs.page(page)).sentences().stream()
                                        .flatMap(sentence -> HouseWords.in(sentence.text()).stream()
                                                .map(found -> found + " (" + sentence + ")"))
                                        .toList())
                .isEmpty());
    }

    @ParameterizedTest
    @CsvSource({"dev.palisade.server.ServerCommand, server", "dev.palisade.objects.Main, objects"})
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
