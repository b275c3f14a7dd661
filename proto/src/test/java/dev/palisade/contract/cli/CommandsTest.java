package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

class CommandsTest {
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    enum How {
        WELL,
        BADLY
    }

    @Command(name = "probe", mixinStandardHelpOptions = true)
    static final class Probe implements Callable<Integer> {
        @Option(names = "--port")
        int port;

        @Option(names = "--how")
        How how = How.WELL;

        @Option(names = "--config")
        @Nullable
        Path config;

        @Option(names = "--reason")
        String reason = "";

        @Override
        public Integer call() throws Commands.CannotStart {
            if (!reason.isEmpty()) {
                throw new Commands.CannotStart("cannot start for " + reason);
            }
            if (port == 13) {
                throw new Commands.CannotStart("cannot listen on 13; use another");
            }
            return port;
        }
    }

    @Test
    void theExitCodeIsTheCommands() {
        assertThat(run("--port=7")).isEqualTo(7);
        assertThat(err()).isEmpty();
    }

    @Test
    void misuseIsToldInOneLineAndExitsWith2() {
        assertThat(run("--prot=7")).isEqualTo(Commands.USAGE);
        assertThat(err()).startsWith("palisade probe: ").contains("--prot").endsWith("(see --help)\n");
        assertThat(err().lines()).hasSize(1);
    }

    /** A terminal would obey them: clear the screen, change the title, turn the line round. */
    @Test
    void controlCharactersOfUserAndFileAreEscaped(@TempDir Path directory) throws Exception {
        String bad = "\u001b[2J\u009b1m\u202e\u0007";
        String shown = "\\u{1b}[2J\\u{9b}1m\\u{202e}\\u{7}";
        assertThat(run("--port=" + bad)).isEqualTo(Commands.USAGE);
        assertThat(run("--x" + bad)).isEqualTo(Commands.USAGE);
        assertThat(run("x" + bad)).isEqualTo(Commands.USAGE);
        assertThat(run("--how=" + bad)).isEqualTo(Commands.USAGE);
        assertThat(run("--config=none" + bad)).isEqualTo(Commands.USAGE);
        assertThat(run("--reason=" + bad, "--port=13")).isEqualTo(Commands.CANNOT_START);
        Path file = Files.writeString(directory.resolve("p.properties"), "probe.p" + bad + "=7\n");
        assertThat(run("--config=" + file)).isEqualTo(Commands.USAGE);
        Files.writeString(file, "probe.port=7" + bad + "\n");
        assertThat(run("--config=" + file)).isEqualTo(Commands.USAGE);
        Files.writeString(file, "probe.port=\\u00zz" + bad + "\n");
        assertThat(run("--config=" + file)).isEqualTo(Commands.USAGE);
        assertThat(run("--config=" + directory.resolve("a\nb"))).isEqualTo(Commands.USAGE);
        assertThat(err().lines())
                .hasSize(10)
                .allSatisfy(
                        line -> assertThat(line).startsWith("palisade probe: ").doesNotContainPattern("\\p{C}"));
        assertThat(err().lines().limit(8)).allSatisfy(line -> assertThat(line).contains(shown));
    }

    @Test
    void everyMisspeltKeyOfTheFileIsToldInOneLine(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(
                directory.resolve("palisade-with-a-long-name-".repeat(5) + ".properties"),
                "probe.prt=7\nprobe.hw=WELL\nobjcts.port=1\n");
        assertThat(run("--config=" + file)).isEqualTo(Commands.USAGE);
        assertThat(err())
                .isEqualTo("palisade probe: " + file + ":1: no setting is called 'probe.prt'; did you mean probe.port?"
                        + "; and " + file + ":2: no setting is called 'probe.hw'; did you mean probe.how?"
                        + "; and " + file + ":3: no setting is called 'objcts.port'; did you mean objects.port?"
                        + " (settings: palisade probe --help)\n");
    }

    @Test
    void aMisspeltVariableDoesNotKeepHelpAway() {
        Map<String, String> misspelt = Map.of("PALISADE_PROBE_PROT", "7");
        assertThat(Commands.run(new Probe(), misspelt, "--port=7")).isEqualTo(Commands.USAGE);
        assertThat(Commands.run(new Probe(), misspelt, "--help")).isZero();
    }

    @Test
    void aBadValueIsToldInOneLineAndExitsWith2() {
        assertThat(run("--port=many")).isEqualTo(Commands.USAGE);
        assertThat(err()).startsWith("palisade probe: ").contains("many");
        assertThat(err().lines()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "--port=many  | --port is 'many'; use a whole number",
                "--port       | --port needs a value",
                "--prot=7     | there is no option --prot; did you mean --port?",
                "surplus      | unexpected argument 'surplus'",
                "--how=so     | --how is 'so'; use WELL or BADLY",
                "--port=1 --port=2 | --port is given twice; give it once"
            })
    void misuseIsToldInPlainWords(String line, String told) {
        assertThat(run(line.strip().split(" "))).isEqualTo(Commands.USAGE);
        assertThat(err()).isEqualTo("palisade probe: " + told + " (see --help)\n");
    }

    @Test
    void aWordOfAChoiceMayBeWrittenInAnyCase() {
        assertThat(run("--how=badly", "--port=7")).isEqualTo(7);
    }

    @Test
    void anUnknownKeyOfTheFileIsToldInOneLineAndExitsWith2(@TempDir Path directory) throws Exception {
        Path file = Files.writeString(directory.resolve("p"), "probe.prot=1\n");
        assertThat(run("--config", file.toString())).isEqualTo(Commands.USAGE);
        assertThat(err()).contains("probe.prot");
        assertThat(err().lines()).hasSize(1);
    }

    @Test
    void aStartThatFailsIsToldInOneLineAndExitsWith3() {
        assertThat(run("--port=13")).isEqualTo(Commands.CANNOT_START);
        assertThat(err()).isEqualTo("palisade probe: cannot listen on 13; use another\n");
    }

    private int run(String... args) {
        PrintStream before = System.err;
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try {
            return Commands.run(new Probe(), args);
        } finally {
            System.setErr(before);
        }
    }

    private String err() {
        return err.toString(StandardCharsets.UTF_8).replace(System.lineSeparator(), "\n");
    }
}
