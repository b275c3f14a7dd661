package dev.palisade.docs;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The shell blocks of each page do what the page says, in order, with real processes in an empty folder. */
@Execution(ExecutionMode.CONCURRENT)
class PagesIT {
    static Stream<String> pagesWithCommands() {
        return Docs.pages().stream()
                .filter(page -> PageStep.of(page, Docs.page(page)).stream().anyMatch(PageStep::isExecuted));
    }

    @ParameterizedTest
    @MethodSource("pagesWithCommands")
    void everyCommandOfThePageWorks(String page, @TempDir Path folder) throws Exception {
        List<PageStep> steps = PageStep.of(page, Docs.page(page));
        try (PageTerminal terminal = new PageTerminal(folder)) {
            for (PageStep step : steps) {
                terminal.take(step);
            }
        }
    }
}
