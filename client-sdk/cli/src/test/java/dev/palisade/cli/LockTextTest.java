package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.HolderInfo;
import dev.palisade.client.LockDescription;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LockTextTest {
    private static final Clock CLOCK = Clock.fixed(Instant.parse("2026-11-21T12:00:30Z"), ZoneOffset.UTC);
    private static final HolderInfo HOLDER = new HolderInfo(
            "a\u001b[31m",
            "",
            new FencingToken(33),
            Mode.EXCLUSIVE,
            Duration.ofSeconds(30),
            Duration.ofSeconds(7),
            "0a1b2c3d");
    private static final LockDescription.Waiter WAITER =
            new LockDescription.Waiter("b", "dump", Mode.SHARED, Duration.ofSeconds(20), true, "");

    private static LockDescription lock(List<HolderInfo> holders, int total, Duration delay) {
        return new LockDescription(new LockName("x"), holders, total, List.of(WAITER), 3, delay, Optional.empty());
    }

    @Test
    void aLockIsShownWithItsHoldersItsQueueAndHowManyAreLeftOut() {
        assertThat(LockText.shown(lock(List.of(HOLDER), 1, Duration.ZERO), CLOCK))
                .isEqualTo("""
                        x: held

                        HOLDER       PURPOSE  MODE       TOKEN  SINCE                           LEASE ENDS IN
                        a\\u{1b}[31m  -        exclusive  33     30 s ago (2026-11-21 12:00:00)  7.0 s

                        #  WAITER  PURPOSE  MODE    SINCE
                        1  b       dump     shared  20 s ago (2026-11-21 12:00:10)  offered
                        and 2 more
                        """);
    }

    @Test
    void theStateIsOneWord() {
        assertThat(LockText.row(lock(List.of(HOLDER), 4, Duration.ZERO)).get(1)).isEqualTo("held by 4");
        assertThat(LockText.row(lock(List.of(), 0, Duration.ofSeconds(3))).get(1))
                .isEqualTo("closed for 3.0 s");
        assertThat(LockText.row(lock(List.of(), 0, Duration.ZERO)).get(1)).isEqualTo("offered");
    }

    @Test
    void theJsonIsOneLineWithTheShapeOfTheReferencePage() {
        assertThat(LockText.json(lock(List.of(HOLDER), 1, Duration.ofMillis(1500))))
                .hasToString(
                        "{\"lock\":\"x\",\"holders\":[{\"session\":\"0a1b2c3d\",\"owner\":\"a\\u001b[31m\",\"purpose\":\"\",\"token\":33,"
                                + "\"mode\":\"EXCLUSIVE\",\"held_millis\":30000,\"remaining_millis\":7000}],\"holders_total\":1,"
                                + "\"waiters\":[{\"session\":\"\",\"owner\":\"b\",\"purpose\":\"dump\",\"mode\":\"SHARED\",\"waited_millis\":20000,"
                                + "\"offered\":true}],\"waiters_total\":3,\"lock_delay_millis\":1500}");
    }
}
