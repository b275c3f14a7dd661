package dev.palisade.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.cli.Commands;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ChaosCommandTest {
    @Test
    void everyKindOfChaosIsASubcommand() {
        assertThat(new CommandLine(new ChaosCommand()).getSubcommands())
                .containsOnlyKeys("run", "explain", "timeline", "redis", "postgresql", "abuse");
    }

    @ParameterizedTest
    @ResourceLock(Resources.SYSTEM_ERR)
    @CsvSource(
            delimiter = '|',
            value = {
                "''                 | palisade chaos: no subcommand; use run, explain, timeline, redis, postgresql or abuse",
                "run --clients 3    | palisade chaos run: --clients is 3; use 8 to 16",
                "redis --seconds -1 | palisade chaos redis: --seconds is -1; use 0 to 86400",
                "postgresql --against x | palisade chaos postgresql: --against has 'x'; use palisade,palisade-resume,naive",
                "postgresql --seconds 1 --incidents 1 | palisade chaos postgresql: --incidents and --seconds exclude",
                "abuse --seconds 0  | palisade chaos abuse: --seconds is 0;"
            })
    void misuseNamesTheSubcommand(String line, String message) {
        PrintStream before = System.err;
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try {
            String[] args = line.isEmpty() ? new String[0] : line.strip().split(" +");
            assertThat(Commands.run(new ChaosCommand(), args)).isEqualTo(2);
        } finally {
            System.setErr(before);
        }
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith(message);
    }
}
