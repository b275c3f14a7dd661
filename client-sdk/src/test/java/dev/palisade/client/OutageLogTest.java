package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OutageLogTest {
    private static final long SECOND = 1_000_000_000;

    private final List<String> lines = new ArrayList<>();
    private final OutageLog outage = new OutageLog("a:1,b:2", 2, (level, line) -> lines.add(level + " " + line));

    @Test
    void outageOfAllServersIsTwoLinesHoweverManyAttemptsFail() {
        for (int i = 0; i < 50; i++) {
            outage.failed(i * SECOND, "b:2: connection refused");
        }
        assertThat(lines)
                .containsExactly(
                        "WARNING no lock server takes this client (a:1,b:2): b:2: connection refused; it tries again"
                                + " until one does, and leases are lost at their deadlines");
        outage.connected(50 * SECOND, "a:1");
        outage.connected(51 * SECOND, "a:1");
        assertThat(lines)
                .hasSize(2)
                .last()
                .isEqualTo("INFO lock server a:1 takes this client again, after 50.0 s and 50 attempts");
    }

    @Test
    void outageOfOneOfSeveralServersIsNone() {
        for (int i = 0; i < 5; i++) {
            outage.failed(i * SECOND, "a:1: connection refused");
            outage.connected(i * SECOND, "b:2");
        }
        assertThat(lines).isEmpty();
    }

    @Test
    void nextOutageIsLoggedAgain() {
        for (int i = 0; i < 2; i++) {
            outage.failed(1, "down");
            outage.failed(2, "down");
            outage.connected(3, "a:1");
        }
        assertThat(lines).hasSize(4);
    }
}
