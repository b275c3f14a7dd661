package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.cli.Commands;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Arguments that no server accepts, and that a terminal would obey: one harmless line, before anybody is asked. */
class HostileArgumentTest {
    private static final String CLEARS_SCREEN = "\u001b[2J";

    @Test
    void malformedTextOfRunIsOneLineWithoutATrace() {
        for (List<String> line : List.of(
                List.of("run", "x", "--purpose", CLEARS_SCREEN, "--", "true"),
                List.of("run", "x", "--purpose", "two\nlines", "--", "true"),
                List.of("run", "x", "--purpose", "p".repeat(257), "--", "true"),
                List.of("run", "x" + CLEARS_SCREEN, "--", "true"),
                List.of("run", "two\nlines", "--", "true"),
                List.of("run", "n".repeat(257), "--", "true"),
                List.of("run", "", "--", "true"),
                List.of("run", "x", "y" + CLEARS_SCREEN, "--", "true"),
                List.of("run", "x" + CLEARS_SCREEN),
                List.of("run", "x", "--server", CLEARS_SCREEN, "--", "true"),
                List.of("describe", "x" + CLEARS_SCREEN),
                List.of("list", "--server", CLEARS_SCREEN))) {
            ByteArrayOutputStream told = new ByteArrayOutputStream();
            PrintStream before = System.err;
            System.setErr(new PrintStream(told, true, StandardCharsets.UTF_8));
            int code;
            try {
                code = Main.run(line.toArray(new String[0]));
            } finally {
                System.setErr(before);
            }
            String err = told.toString(StandardCharsets.UTF_8);
            assertThat(code).as(err).isEqualTo(Commands.USAGE);
            assertThat(err.lines()).as(err).hasSize(1);
            assertThat(err.strip())
                    .startsWith("palisade " + line.get(0) + ": ")
                    .doesNotContain("Exception")
                    .doesNotContainPattern("\\p{C}");
        }
    }
}
