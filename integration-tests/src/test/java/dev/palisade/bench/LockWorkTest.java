package dev.palisade.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What callers do with locks, counted by the locks. */
class LockWorkTest {
    private static final Duration TIME = Duration.ofMillis(30);

    private final ExecutorService executor = Executors.newFixedThreadPool(2);
    private final FakeLocks locks = new FakeLocks(executor);

    @AfterEach
    void end() {
        executor.shutdownNow();
    }

    @Test
    void eachThreadTakesItsOwnLockAndEveryPairCounts() throws Exception {
        Measured measured = new Callers(Threads.ofPlatform(3), false).run(locks, Map.of(), TIME);

        assertThat(measured.operations()).isEqualTo(locks.released()).isGreaterThanOrEqualTo(3);
        assertThat(locks.names()).hasSize(3);
        assertThat(measured.nanos()).isGreaterThanOrEqualTo(TIME.toNanos());
    }

    @Test
    void ofOneLockTheWaitsAndTheFairnessAreTold() throws Exception {
        Measured measured = new Callers(Threads.ofPlatform(3), true).run(locks, Map.of(), TIME);

        assertThat(measured.operations()).isEqualTo(locks.released());
        assertThat(locks.names()).hasSize(1);
        assertThat(measured.figures()).containsOnlyKeys(Samples.P50, Samples.P99, Callers.FAIRNESS);
        assertThat(measured.figures().get(Callers.FAIRNESS)).isGreaterThanOrEqualTo(1);
    }

    @Test
    void whenTheTimeIsOverBeforeItBeginsEachCallerHasDoneItOnce() throws Exception {
        assertThat(new Callers(Threads.ofPlatform(3), false)
                        .run(locks, Map.of(), Duration.ZERO)
                        .operations())
                .isEqualTo(3);
        assertThat(new AsyncCallers(3, 3).run(locks, Map.of(), Duration.ZERO).operations())
                .isEqualTo(3);
    }

    @Test
    void chainsGoThroughAllTheirNamesAndNoTwoMeet() throws Exception {
        FakeLocks many = new FakeLocks(executor);
        long rounds = 0;
        while (many.names().size() < 10 && rounds < 1_000) {
            rounds += new AsyncCallers(3, 10).run(many, Map.of(), TIME).operations();
        }

        assertThat(many.names()).hasSize(10);
        assertThat(many.released()).isEqualTo(rounds);
    }

    @Test
    void aHandOffCountsOncePerReleaseToSomebodyWhoWaits() throws Exception {
        Measured measured = HandOff.run(List.of(locks, locks), Map.of(), TIME);

        assertThat(measured.operations()).isPositive().isLessThan(locks.released());
        assertThat(locks.names()).hasSize(1);
    }

    @Test
    void whatFailsIsToldByWhateverCallers() {
        assertThatThrownBy(() -> new Callers(Threads.ofPlatform(2), false)
                        .run(new FakeLocks(null).failingAfter(5), Map.of(), Duration.ofSeconds(20)))
                .isInstanceOf(ScenarioFailed.class)
                .hasMessageContaining("no more locks");
        assertThatThrownBy(() -> new AsyncCallers(2, 2)
                        .run(new FakeLocks(executor).failingAfter(5), Map.of(), Duration.ofSeconds(20)))
                .isInstanceOf(ScenarioFailed.class)
                .hasMessageContaining("no more locks");
        assertThatThrownBy(() -> new AsyncCallers(2, 2).run(new FakeLocks(null), Map.of(), TIME))
                .isInstanceOf(ScenarioFailed.class)
                .hasMessageContaining("no asynchronous calls");
    }
}
