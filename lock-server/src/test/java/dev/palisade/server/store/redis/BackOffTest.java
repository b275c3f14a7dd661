package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BackOffTest {
    @Test
    void theFirstTryIsAtOnceAndTheNextWaitLongerUpToABound() {
        BackOff longest = new BackOff(below -> below - 1);
        assertThat(LongStream.generate(longest::nextMillis).limit(9))
                .containsExactly(0L, 20L, 40L, 80L, 160L, 320L, 640L, 1000L, 1000L);
        BackOff shortest = new BackOff(below -> 0);
        assertThat(LongStream.generate(shortest::nextMillis).limit(9))
                .containsExactly(0L, 10L, 20L, 40L, 80L, 160L, 320L, 500L, 500L);
    }

    @Test
    void whatHeldForAWhileIsTriedAtOnceAgain() {
        BackOff backOff = new BackOff(below -> 0);
        LongStream.generate(backOff::nextMillis)
                .limit(100)
                .forEach(wait -> assertThat(wait).isLessThan(1_000));
        backOff.reset();
        assertThat(backOff.nextMillis()).isZero();
    }
}
