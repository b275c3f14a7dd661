package dev.palisade.cli.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class RunCommandTest {
    /** A lost lock whose watchdog is stopped must stay unavailable until the command is certainly dead. */
    @ParameterizedTest
    @CsvSource({"'', PT5S", "--kill-after=0s, PT2S", "--kill-after=500ms, PT2.5S", "--kill-after=59s, PT60S"})
    void lockDelayOutlastsTheKillByTwoSeconds(String option, Duration expected) {
        assertThat(parsed(option).lockDelay()).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"--lock-delay=0s, PT0S", "--lock-delay=7s, PT7S"})
    void lockDelayThatIsGivenCounts(String option, Duration expected) {
        assertThat(parsed(option).lockDelay()).isEqualTo(expected);
    }

    private static RunCommand parsed(String option) {
        RunCommand command = new RunCommand(List.of("true"));
        CommandLine line = new CommandLine(command);
        var unused = option.isEmpty() ? line.parseArgs("x") : line.parseArgs("x", option);
        return command;
    }
}
