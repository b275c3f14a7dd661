package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PauseLogTest {
    private final List<String> warnings = new ArrayList<>();
    private long millis = 5;
    private final PauseLog log = new PauseLog(
            () -> TimeUnit.MILLISECONDS.toNanos(millis), new EventLog(line -> {}, warnings::add, () -> 0, 1_000));

    private void lookAfter(long passedMillis) {
        millis += passedMillis;
        log.run();
    }

    @Test
    void looksInTimeAreNoPause() {
        for (int i = 0; i < 20; i++) {
            lookAfter(PauseLog.LOOK_MILLIS);
        }
        lookAfter(PauseLog.LOOK_MILLIS + 999);
        assertThat(warnings).isEmpty();
    }

    @Test
    void pauseIsReportedOnceWithItsLength() {
        lookAfter(PauseLog.LOOK_MILLIS + 3_000);
        for (int i = 0; i < 15; i++) {
            lookAfter(0); // A timer at a fixed rate catches up.
        }
        lookAfter(PauseLog.LOOK_MILLIS);
        assertThat(warnings).singleElement().asString().startsWith("event=process_paused ms=3000 message=");
    }
}
