package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class DurationOptionTest {
    @ParameterizedTest
    @CsvSource({"0s, PT0S", "500ms, PT0.5S", "10s, PT10S", "5m, PT5M", "24h, PT24H", "999999999h, PT999999999H"})
    void aTimeIsReadAsPeopleWriteIt(String text, Duration time) {
        assertThat(new DurationOption().convert(text)).isEqualTo(time);
    }

    @ParameterizedTest
    @CsvSource({
        "0ms, 0s",
        "500ms, 500ms",
        "1500ms, 1500ms",
        "10s, 10s",
        "90s, 90s",
        "60s, 1m",
        "60m, 1h",
        "90m, 90m",
        "24h, 24h"
    })
    void aTimeIsRepeatedInTheFormThatIsRead(String given, String text) {
        assertThat(DurationOption.text(new DurationOption().convert(given))).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "10", "s", "10 s", "-1s", "1.5s", "10S", "1d", "PT10S", "1s1s", "1000000000s", "١s"})
    void anythingElseIsRefusedWithAnExample(String text) {
        assertThatThrownBy(() -> new DurationOption().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessage("'" + text + "' is not a time; write 500ms, 10s, 5m or 24h");
    }
}
