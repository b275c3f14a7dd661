package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProseTest {
    @Test
    void paragraphsListItemsCellsAndHeadingsAreSentences() {
        Prose prose = Prose.of("""
                # A page (short)

                One sentence
                on two lines. Another one.
                - an item
                - [a link](a/b.md#c) with `some code here`

                | cell | next \\| cell |
                |---|---|
                """);
        assertThat(prose.sentences())
                .extracting(Prose.Sentence::text)
                .containsExactly(
                        "A page (short)",
                        "One sentence on two lines.",
                        "Another one.",
                        "an item",
                        "a link with CODE",
                        "cell",
                        "next \\| cell",
                        "---",
                        "---");
        assertThat(prose.sentences().get(1).words()).isEqualTo(5);
        assertThat(prose.anchors()).containsExactly("a-page-short");
    }

    @Test
    void codeBlocksAreNoProse() {
        assertThat(Prose.of("```sh\nwhoever comes\n```\n").sentences()).isEmpty();
    }

    @Test
    void longLinesAreFoundOutsideTables() {
        String words = "word ".repeat(25);
        assertThat(Prose.of(words + "\n| " + words + " |\n").longLines()).hasSize(1);
        assertThat(Prose.of("```\n" + words + "\n```").longLines()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({
        "A guard at the door., 1",
        "Whoever comes first., 1",
        "Who holds it?, 0",
        "Who has it is in., 1",
        "A tier 2 guard is told., 2",
        "The guard rejects the call., 0"
    })
    void wordsOfTheListAreFound(String text, int found) {
        assertThat(HouseWords.in(text)).hasSize(found);
    }
}
