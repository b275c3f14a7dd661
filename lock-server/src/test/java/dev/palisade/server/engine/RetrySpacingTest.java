package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RetrySpacingTest {
    private static final long START = 1_800_000_000_000L;

    private final RetrySpacing spacing = new RetrySpacing();

    private long takenAt(long millis) {
        return spacing.takeMillis(START + millis);
    }

    @Test
    void aFewAreNotHeldUp() {
        assertThat(LongStream.range(0, 100).map(i -> takenAt(i * 50))).containsOnly(0L);
    }

    @Test
    void thoseThatComeAtOnceReturnOneEachMillisecond() {
        assertThat(LongStream.range(0, 5).map(i -> takenAt(0))).containsExactly(0L, 1L, 2L, 3L, 4L);
        assertThat(takenAt(2)).as("behind the others").isEqualTo(3);
        assertThat(takenAt(60)).as("all are back").isZero();
    }

    @Test
    void nobodyWaitsForLongerThanTwoSeconds() {
        assertThat(LongStream.range(0, 10_000).map(i -> takenAt(0)).max()).hasValue(2_000);
    }
}
