package dev.palisade.cli.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PagingTest {
    private final List<String> read = new ArrayList<>();

    private void read(Map<String, Paging.Page<String>> pages) throws Failed {
        Paging.read(
                token -> {
                    Paging.Page<String> page = pages.get(token);
                    if (page == null) {
                        throw new Failed(ExitCodes.NO_ANSWER, "", "timed out");
                    }
                    return page;
                },
                read::addAll);
    }

    private static Paging.Page<String> page(String item, String next) {
        return new Paging.Page<>(item.isEmpty() ? List.of() : List.of(item), next);
    }

    @Test
    void pagesAreReadToTheEndAlsoWhereOneIsEmpty() throws Failed {
        read(Map.of("", page("a", "1"), "1", page("", "2"), "2", page("b", "")));
        assertThat(read).containsExactly("a", "b");
    }

    @Test
    void serverThatRepeatsItsPageTokensIsReported() {
        for (Map<String, Paging.Page<String>> endless : List.of(
                Map.of("", page("a", "1"), "1", page("b", "1")),
                Map.of("", page("a", "1"), "1", page("b", "2"), "2", page("c", "1")))) {
            assertThatExceptionOfType(Failed.class)
                    .isThrownBy(() -> read(endless))
                    .withMessage("the list is incomplete: the lock server sent the same page token twice")
                    .extracting(Failed::exitCode)
                    .isEqualTo(3);
        }
    }

    @Test
    void listThatIsCutShortSaysSo() {
        assertThatExceptionOfType(Failed.class)
                .isThrownBy(() -> read(Map.of("", page("a", "1"))))
                .withMessage("timed out; the list is incomplete: allow more time with --timeout");
        assertThat(read).containsExactly("a");
        assertThatExceptionOfType(Failed.class).isThrownBy(() -> read(Map.of())).withMessage("timed out");
    }
}
