package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.micrometer.LibraryMetric;
import dev.palisade.server.metrics.ServerMetric;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The page of the metrics is what the code has: {@code -Dpalisade.metrics.write=true} writes it anew. */
class MetricsPageTest {
    private static final Path PAGE = Docs.ROOT.resolve("docs/reference/metrics.md");

    private static final String HEAD = """
            # Metrics

            `palisade server --admin-port PORT` serves its metrics under `/metrics`, in the text format of Prometheus or as
            OpenMetrics. This page is generated from the code. Times are in seconds. Counters begin at 0 with the process.

            | path | answers |
            |---|---|
            | `/metrics` | all of the following; with a policy it needs [the verb `operate`](access.md) |
            | `/health/live` | 200 while the process serves HTTP |
            | `/health/ready` | 200 while locks are served; 503 while the store cannot decide, and during a stop |

            Each metric has one label at most, with the values that are listed. No lock, owner or principal is ever a label: a
            series for each would flood Prometheus and show each client's locks. `palisade list` and `palisade history` have them.

            A histogram has the series `_bucket`, `_count` and `_sum`, and a gauge `_max` with the maximum of the last two or three
            minutes. All series are there from the start.

            | metric | type | label: values |
            |---|---|---|
            """;

    private static final String PROCESS = """

            ## The process

            The process has the usual metrics of Micrometer: `jvm_memory_*`, `jvm_buffer_*`, `jvm_gc_*`, `jvm_threads_*`,
            `process_*` and `system_*`. A long `jvm_gc_pause_seconds_max` delays every answer. When `process_files_open_files` nears
            `process_files_max_files`, raise `ulimit -n`.
            """;

    private static final String LIBRARIES = """

            ## Clients and guards

            An application shows the metrics of its own clients and guards [in its own
            registry](../guides/monitor.md#clients-and-guards), by `ClientMetrics`, `GuardMetrics` and `FenceMetrics` of
            `palisade-micrometer`. The names below are those that Prometheus sees.

            | metric | type | label: values |
            |---|---|---|
            """;

    /** Lines of prose as long as a page may have. */
    private static final int COLUMNS = 118;

    static String page() {
        List<Described> server = Arrays.stream(ServerMetric.values())
                .map(metric -> new Described(
                        metric.exposedName(),
                        metric.exposedType(),
                        metric.labelKey(),
                        metric.labelValues(),
                        metric.meaning(),
                        metric.advice()))
                .toList();
        List<Described> libraries = Arrays.stream(LibraryMetric.values())
                .map(metric -> new Described(
                        metric.exposedName(),
                        metric.exposedType(),
                        metric.labelKey(),
                        metric.labelValues(),
                        metric.meaning(),
                        metric.advice()))
                .toList();
        return HEAD
                + rows(server)
                + sections("##", server)
                + PROCESS
                + LIBRARIES
                + rows(libraries)
                + sections("###", libraries);
    }

    /** What the page says of one metric. */
    private record Described(
            String name, String type, String labelKey, List<String> labelValues, String meaning, String advice) {
        String row() {
            String label = labelKey.isEmpty() ? "" : "`" + labelKey + "`: " + String.join(", ", labelValues);
            return "| [`" + name + "`](#" + name + ") | " + type + " | " + label + " |\n";
        }

        String section(String heading) {
            return "\n" + heading + " " + name + "\n\n" + wrapped(meaning) + "\n\n"
                    + wrapped("**When it moves:** " + advice) + "\n";
        }
    }

    private static String rows(List<Described> metrics) {
        return metrics.stream().map(Described::row).collect(Collectors.joining());
    }

    private static String sections(String heading, List<Described> metrics) {
        return metrics.stream().map(metric -> metric.section(heading)).collect(Collectors.joining());
    }

    private static String wrapped(String prose) {
        StringBuilder text = new StringBuilder();
        int column = 0;
        for (String word : prose.split(" ", -1)) {
            if (column > 0 && column + 1 + word.length() > COLUMNS) {
                text.append('\n');
                column = 0;
            } else if (column > 0) {
                text.append(' ');
                column++;
            }
            text.append(word);
            column += word.length();
        }
        return text.toString();
    }

    @Test
    void thePageIsGeneratedFromTheCode() throws Exception {
        if (Boolean.getBoolean("palisade.metrics.write")) {
            Files.writeString(PAGE, page());
        }
        assertThat(Docs.page("docs/reference/metrics.md"))
                .as("-Dpalisade.metrics.write=true writes it anew")
                .isEqualTo(page());
    }
}
