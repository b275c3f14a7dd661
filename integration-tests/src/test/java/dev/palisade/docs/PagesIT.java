package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The blocks of each page do what the page says, in order, with real processes in an empty folder. */
@Execution(ExecutionMode.CONCURRENT)
class PagesIT {
    static Stream<String> pagesWithCommands() {
        return Docs.pages().stream()
                .filter(page -> !GUIDES.containsKey(page))
                .filter(page -> PageStep.of(page, Docs.page(page)).stream().anyMatch(PageStep::isExecuted));
    }

    private static boolean hasCurl() {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "curl")));
    }

    @ParameterizedTest
    @MethodSource("pagesWithCommands")
    void everyCommandOfThePageWorks(String page, @TempDir Path folder) throws Exception {
        List<PageStep> steps = PageStep.of(page, Docs.page(page));
        assumeTrue(
                steps.stream()
                                .noneMatch(
                                        step -> step.isExecuted() && step.text().contains("curl "))
                        || hasCurl(),
                "no curl on the PATH: the commands of " + page + " are not run");
        takeAll(steps, folder, ReaderProgram.NONE);
    }

    private static void takeAll(List<PageStep> steps, Path folder, ReaderProgram program) throws Exception {
        try (program;
                PageTerminal terminal =
                        new PageTerminal(folder, program, steps.stream().anyMatch(PageStep::startsServer))) {
            for (PageStep step : steps) {
                terminal.take(step);
            }
        }
    }

    /** Starts the data store of a guide. */
    interface Starting {
        ReaderProgram start() throws Exception;
    }

    /** The guides whose code and SQL are run, and the readers of each. */
    private static final Map<String, List<Starting>> GUIDES = new TreeMap<>(Map.of(
            "docs/guides/guard-your-database.md", List.of(DatabaseReader::onPostgres, DatabaseReader::onMariaDb),
            "docs/guides/guard-several-replicas.md", List.of(DatabaseReader::onPostgres, DatabaseReader::onMariaDb),
            "docs/guides/guard-your-redis.md", List.of(RedisReader::new),
            "docs/guides/guard-your-s3-bucket.md", List.of(S3Reader::new)));

    static Stream<Arguments> guides() {
        return GUIDES.entrySet().stream()
                .flatMap(guide -> guide.getValue().stream().map(starting -> Arguments.of(guide.getKey(), starting)));
    }

    /** Each block that is code, SQL or a command, in the order of the page. */
    @ParameterizedTest
    @MethodSource("guides")
    void everyBlockOfTheGuideWorks(String page, Starting starting, @TempDir Path folder) throws Exception {
        List<PageStep> steps = PageStep.of(page, Docs.page(page));
        assertThat(steps)
                .noneMatch(step -> step.kind() == PageStep.Kind.NOT_RUN)
                .isNotEmpty();
        takeAll(steps, folder, starting.start());
    }
}
