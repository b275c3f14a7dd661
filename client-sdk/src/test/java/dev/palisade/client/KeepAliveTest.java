package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class KeepAliveTest {
    private static final long MS = 1_000_000;
    private final KeepAlive keepAlive = new KeepAlive(0);

    @Test
    void aThirdOfTheSmallestTtlAndAtMostHalfASecondWhileSomethingWaits() {
        assertThat(KeepAlive.intervalNanos(OptionalLong.of(9_000), false)).isEqualTo(3_000 * MS);
        assertThat(KeepAlive.intervalNanos(OptionalLong.of(9_000), true)).isEqualTo(500 * MS);
        assertThat(KeepAlive.intervalNanos(OptionalLong.of(1_200), true)).isEqualTo(400 * MS);
        assertThat(KeepAlive.intervalNanos(OptionalLong.empty(), true)).isEqualTo(500 * MS);
    }

    @Test
    void theNextIsDueOneIntervalAfterTheLast() {
        assertThat(keepAlive.dueNanos(OptionalLong.of(9_000), false)).isEqualTo(3_000 * MS);
        keepAlive.sent(at(3_100));
        assertThat(keepAlive.dueNanos(OptionalLong.of(9_000), false)).isEqualTo(6_100 * MS);
        keepAlive.activated(50_000 * MS);
        assertThat(keepAlive.dueNanos(OptionalLong.of(9_000), false)).isEqualTo(53_000 * MS);
    }

    @Test
    void anAnswerNamesTheSendingAndOlderOnesAreAnsweredWithIt() {
        assertThat(keepAlive.sent(at(100))).isEqualTo(1);
        assertThat(keepAlive.sent(at(200))).isEqualTo(2);
        assertThat(keepAlive.sent(at(300))).isEqualTo(3);
        assertThat(keepAlive.nextId()).isEqualTo(4);
        assertThat(keepAlive.answered(2)).isEqualTo(at(200));
        assertThat(keepAlive.answered(1)).isNull();
        assertThat(keepAlive.answered(2)).isNull();
        assertThat(keepAlive.oldestUnansweredNanos()).hasValue(300 * MS);
        assertThat(keepAlive.answered(3)).isEqualTo(at(300));
        assertThat(keepAlive.oldestUnansweredNanos()).isEmpty();
    }

    @Test
    void answersToWhatWasNeverSentAreNone() {
        assertThat(keepAlive.answered(1)).isNull();
        keepAlive.sent(at(100));
        assertThat(keepAlive.answered(0)).isNull();
        assertThat(keepAlive.answered(-1)).isNull();
        assertThat(keepAlive.answered(2)).isNull();
        assertThat(keepAlive.answered(1)).isEqualTo(at(100));
    }

    private static Moment at(long millis) {
        return new Moment(millis * MS, millis);
    }
}
