package dev.palisade.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.bench.Rounds.Series;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class RoundsTest {
    private static final PrintStream NOWHERE = new PrintStream(OutputStream.nullOutputStream());
    private static final Duration WARM_UP = Duration.ofMillis(7);
    private static final Duration ROUND = Duration.ofMillis(3);

    private final Map<String, Contestant> contestants = new LinkedHashMap<>();
    private final List<String> calls = new ArrayList<>();

    private void contestant(String name, long operations) {
        contestants.put(name, time -> {
            calls.add(name + time.toMillis());
            return new Measured(operations, 1, 1);
        });
    }

    private Series series(String name) throws InterruptedException {
        return series(name, WARM_UP);
    }

    private Series series(String name, Duration warmUp) throws InterruptedException {
        return Objects.requireNonNull(
                new Rounds(warmUp, ROUND, 2).run(contestants, NOWHERE).get(name));
    }

    @Test
    void contestantsTakeTurnsAfterAllHaveWarmedUp() throws InterruptedException {
        contestant("a", 1);
        contestant("b", 1);

        assertThat(series("a").rounds()).hasSize(2);
        assertThat(calls).containsExactly("a7", "b7", "a3", "b3", "a3", "b3");
    }

    @Test
    void withoutAWarmUpAllThatIsDoneIsMeasured() throws InterruptedException {
        contestant("a", 1);

        assertThat(series("a", Duration.ZERO).rounds()).hasSize(2);
        assertThat(calls).containsExactly("a3", "a3");
    }

    @Test
    void oneThatFailsIsOutAndTheOthersGoOn() throws InterruptedException {
        contestants.put("a", time -> {
            calls.add("a" + time.toMillis());
            throw new IllegalStateException("it is broken");
        });
        contestant("b", 1);

        assertThat(series("a")).isEqualTo(new Series(List.of(), "it is broken"));
        assertThat(calls).containsExactly("a7", "b7", "b3", "b3");
    }

    @Test
    void oneThatDoesNothingInARoundIsOut() throws InterruptedException {
        contestant("a", 0);

        assertThat(series("a").failed()).isEqualTo("nothing was done within 3 ms");
        assertThat(calls).containsExactly("a7", "a3");
    }

    @Test
    void theMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle() {
        assertThat(Rounds.median(List.of(9.0, 1.0, 4.0))).isEqualTo(4.0);
        assertThat(Rounds.median(List.of(9.0, 1.0, 4.0, 5.0))).isEqualTo(4.5);
    }
}
