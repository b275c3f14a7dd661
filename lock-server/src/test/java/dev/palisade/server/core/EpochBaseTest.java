package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EpochBaseTest {
    @Test
    void aClockAheadOfEverythingIssuedIsTheBase() {
        assertThat(LockMachine.epochBase(1_000, 0, 7)).isEqualTo(4_096_000);
        assertThat(LockMachine.epochBase(1_000, 4_095_999, 7)).isEqualTo(4_096_000);
    }

    @Test
    void aClockThatIsNotAheadIsLeftBehindByTheNextMultipleAndTheEpochsBits() {
        assertThat(LockMachine.epochBase(1_000, 4_096_000, 7)).isEqualTo((1L << 24) + 7 * 4096L);
        assertThat(LockMachine.epochBase(0, (1L << 24) - 1, 0)).isEqualTo(1L << 24);
        assertThat(LockMachine.epochBase(0, 1L << 24, 0)).isEqualTo(2L << 24);
        assertThat(LockMachine.epochBase(0, 5, -1)).isEqualTo((1L << 24) + 4095 * 4096L);
    }

    @Test
    void everyBaseIsAboveWhatWasIssued() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 100_000; i++) {
            long high = random.nextLong(0, 1L << 52);
            long clock = random.nextBoolean() ? (high >> 12) + random.nextInt(5) - 2 : random.nextLong(0, 1L << 40);
            assertThat(LockMachine.epochBase(Math.max(0, clock), high, random.nextInt()))
                    .isGreaterThan(high);
        }
    }

    @Test
    void twoHistoriesBehindTheSameTokensDoNotMeet() {
        assertThat(LockMachine.epochBase(0, 1_000_000, 1)).isNotEqualTo(LockMachine.epochBase(0, 1_000_000, 2));
    }

    @Test
    void aClockBeyondReasonIsNoBaseAtAll() {
        assertThatThrownBy(() -> LockMachine.epochBase(Long.MAX_VALUE / 2, 0, 0))
                .isInstanceOf(ArithmeticException.class);
    }

    /** Whatever part of a grant's tokens is known, all of them are below. */
    @Test
    void noGrantsTokensReachOverABase() {
        for (long high : new long[] {1, 4_095, 4_096_033, (1L << 24) - 31, (1L << 30) + 33}) {
            assertThat(LockMachine.epochBase(1_000, high, (int) high) % FencingToken.PER_GRANT)
                    .isZero();
        }
    }
}
