package dev.palisade.cli.term;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TimeFormatTest {
    @ParameterizedTest
    @CsvSource({
        "PT-5S, 0.0 s",
        "PT0.31S, 0.3 s",
        "PT9.9S, 9.9 s",
        "PT12.9S, 12 s",
        "PT119S, 119 s",
        "PT120S, 2 min",
        "PT119M, 119 min",
        "PT200M, 3 h 20 min",
        "PT47H, 47 h 0 min",
        "PT122H, 5 d 2 h"
    })
    void durationIsShownInTheLargestUnits(Duration length, String shown) {
        assertThat(TimeFormat.duration(length)).isEqualTo(shown);
    }

    @Test
    void instantIsShownAsAgeAndTimestamp() {
        Instant now = Instant.parse("2026-11-21T12:00:30Z");
        assertThat(TimeFormat.ago(now.minusSeconds(27), now, ZoneId.of("Europe/Berlin")))
                .isEqualTo("27 s ago (2026-11-21T13:00:03+01:00)");
        assertThat(TimeFormat.at(now, ZoneOffset.UTC)).isEqualTo("2026-11-21T12:00:30Z");
    }

    @Test
    void negativeNumberFromServerIsUnknown() {
        Instant now = Instant.parse("2026-11-21T12:00:30Z");
        assertThat(TimeFormat.durationMillis(-1)).isEqualTo("?");
        assertThat(TimeFormat.durationMillis(9_900)).isEqualTo("9.9 s");
        assertThat(TerminalText.count(-1)).isEqualTo("?");
        assertThat(TimeFormat.agoMillis(Long.MIN_VALUE, now, ZoneOffset.UTC)).isEqualTo("?");
        assertThat(TimeFormat.agoMillis(Long.MAX_VALUE, now, ZoneOffset.UTC)).contains(" ago (");
    }
}
