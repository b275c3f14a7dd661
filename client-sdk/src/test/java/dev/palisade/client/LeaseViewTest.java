package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LeaseViewTest {
    private static final long MS = 1_000_000;
    private static final ClockReading START = new ClockReading(Long.MAX_VALUE - 5_000 * MS, 1_000_000);
    private final LeaseView view = new LeaseView(START, 10_000);

    @Test
    void tenSecondsAreWorthTenSecondsLessAThousandthLessTwentyMillis() {
        assertThat(view.validNanos()).isEqualTo(9_970 * MS);
        assertThat(view.leftNanos(START)).isEqualTo(9_970 * MS);
    }

    @Test
    void itEndsToTheNanosecondAlsoAcrossTheEndOfTheNumberLine() {
        assertThat(view.expired(after(9_970 * MS - 1, 0))).isFalse();
        assertThat(view.expired(after(9_970 * MS, 0))).isTrue();
        assertThat(view.expired(after(99_000 * MS, 0))).isTrue();
    }

    @Test
    void theWallClockAloneEndsIt() {
        assertThat(view.expired(after(0, 9_969))).isFalse();
        assertThat(view.expired(after(0, 9_970))).isTrue();
    }

    @Test
    void aWallClockSteppedBackDoesNotProlongIt() {
        assertThat(view.leftNanos(after(9_000 * MS, -3_600_000))).isEqualTo(970 * MS);
    }

    @Test
    void theClockThatSaysLessCounts() {
        assertThat(view.leftNanos(after(1_000 * MS, 4_000))).isEqualTo(5_970 * MS);
        assertThat(view.leftNanos(after(4_000 * MS, 1_000))).isEqualTo(5_970 * MS);
    }

    @Test
    void aTtlThatTheMarginEatsUpIsNoLease() {
        assertThat(new LeaseView(START, 20).expired(START)).isTrue();
        assertThat(new LeaseView(START, 22).expired(START)).isFalse();
    }

    @Test
    void theLaterViewWins() {
        LeaseView later = new LeaseView(after(100 * MS, 100), 10_000);
        assertThat(view.later(later)).isEqualTo(later);
        assertThat(later.later(view)).isEqualTo(later);
    }

    private static ClockReading after(long nanos, long wallMillis) {
        return new ClockReading(START.nanos() + nanos, START.wallMillis() + wallMillis);
    }
}
