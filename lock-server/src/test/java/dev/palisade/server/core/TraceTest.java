package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The traces in {@code src/test/resources/traces} are the specification of the lock machine. Each opens with prose saying
 * what must be true; then commands at given times, each followed by its answer and its events.
 *
 * <p>{@code -Dpalisade.traces.rewrite=true} writes what the machine does in place of what was expected. Read the diff.
 */
class TraceTest {
    private static final Path TRACES = Path.of("src/test/resources/traces");

    static Stream<String> traces() throws IOException {
        try (Stream<Path> files = Files.list(TRACES)) {
            List<String> names = files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".txt"))
                    .sorted()
                    .toList();
            return names.stream();
        }
    }

    @ParameterizedTest
    @MethodSource("traces")
    void theMachineDoesWhatTheTraceSays(String name) throws IOException {
        Path file = TRACES.resolve(name);
        String expected = Files.readString(file, StandardCharsets.UTF_8);
        String actual = new Trace(LockMachine::step).run(expected);
        if (Boolean.getBoolean("palisade.traces.rewrite")) {
            Files.writeString(file, actual, StandardCharsets.UTF_8);
            return;
        }
        assertThat(actual).as(name).isEqualTo(expected);
    }

    @Test
    void everyTraceOpensWithProse() throws IOException {
        for (String name : traces().toList()) {
            List<String> lines = Files.readAllLines(TRACES.resolve(name), StandardCharsets.UTF_8);
            List<String> prose =
                    lines.stream().takeWhile(line -> line.startsWith("# ")).toList();
            assertThat(prose).as(name).isNotEmpty();
            assertThat(prose.get(prose.size() - 1)).as(name).endsWith(".");
        }
    }

    @Test
    void togetherTheTracesReachEverything() throws IOException {
        Coverage coverage = new Coverage();
        for (String name : traces().toList()) {
            Trace trace = new Trace(LockMachine::step, coverage);
            assertThat(trace.run(Files.readString(TRACES.resolve(name), StandardCharsets.UTF_8)))
                    .isNotEmpty();
        }
        coverage.requireAll(1);
    }

    @Test
    void aTraceThatExpectsSomethingElseDiffers() {
        String wrong = "# Wrong on purpose.\n\n> 0 acquire a1\nbusy\n";
        assertThat(new Trace(LockMachine::step).run(wrong)).isNotEqualTo(wrong).contains("granted a1 token 1");
    }

    @Test
    void aCommandThatNobodyKnowsIsAnError() {
        org.assertj.core.api.Assertions.assertThatThrownBy(() -> new Trace(LockMachine::step).run("> 0 aquire a1\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("aquire");
        assertThat(new TreeSet<>(Trace.VERBS))
                .as("one word per command, everywhere")
                .containsExactlyElementsOf(new TreeSet<>(Stream.of(Command.class.getPermittedSubclasses())
                        .map(kind -> kind.getSimpleName().toLowerCase(java.util.Locale.ROOT))
                        .toList()));
    }
}
