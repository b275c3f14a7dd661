package dev.palisade.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.bench.Goals.Judged;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.bench.Rounds.Series;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GoalsTest {
    private static final long SECOND = 1_000_000_000;

    private final Map<String, Series> series = new LinkedHashMap<>();

    private void measured(String contestant, long perSecond, Map<String, Double> figures) {
        series.put(contestant, new Series(List.of(new Measured(perSecond, SECOND, Map.of(), figures)), null));
    }

    private Judged judge(Part part, String title, String what, String contestant) {
        return Goals.judge(List.of(new Comparison(part, title, Services.REDISSON, series))).stream()
                .filter(each -> each.what().equals(what) && each.contestant().equals(contestant))
                .reduce((one, other) -> {
                    throw new AssertionError("twice: " + one + " and " + other);
                })
                .orElseThrow();
    }

    private Judged ownLocks() {
        return judge(Part.LOCKS, LockParts.ownLocksTitle(64), "own locks, threads: 64", Store.PROCESS.contestant());
    }

    @Test
    void soManyTimesThePeerIsMet() {
        measured(Services.REDISSON, 100, Map.of());
        measured(Store.PROCESS.contestant(), 400, Map.of());

        assertThat(ownLocks().figure()).isEqualTo(4.0);
        assertThat(ownLocks().met()).isTrue();
    }

    @Test
    void lessIsMissed() {
        measured(Services.REDISSON, 100, Map.of());
        measured(Store.PROCESS.contestant(), 399, Map.of());

        assertThat(ownLocks().met()).isFalse();
    }

    @Test
    void withoutThePeerItIsNotMeasured() {
        measured(Store.PROCESS.contestant(), 400, Map.of());

        assertThat(ownLocks().figure()).isNull();
        assertThat(ownLocks().met()).isNull();
    }

    @Test
    void whatOnlyIsReportedIsNeitherMetNorMissed() {
        measured(Services.REDISSON, 100, Map.of());
        measured(Store.SYNCED.contestant(), 200, Map.of());
        Judged judged =
                judge(Part.LOCKS, LockParts.ownLocksTitle(8), "own locks, threads: 8", Store.SYNCED.contestant());

        assertThat(judged.figure()).isEqualTo(2.0);
        assertThat(judged.met()).isNull();
    }

    @Test
    void aShorterWaitIsSoManyTimesThePeers() {
        measured(Services.REDISSON, 1, Map.of(Samples.P99, 300.0));
        measured(Store.REDIS.contestant(), 1, Map.of(Samples.P99, 100.0, Callers.FAIRNESS, 1.06));
        String title = LockParts.oneLockTitle(64);
        Judged wait = judge(Part.ONE_KEY, title, "one lock, threads: 64: p99 wait, shorter", Store.REDIS.contestant());
        Judged fairness = judge(Part.ONE_KEY, title, "one lock, threads: 64: fairness", Store.REDIS.contestant());

        assertThat(wait.figure()).isEqualTo(3.0);
        assertThat(wait.met()).isTrue();
        assertThat(fairness.met()).isFalse();
    }

    @Test
    void whatWasNotComparedHasNoGoals() {
        assertThat(Goals.judge(List.of())).isEmpty();
    }
}
