package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.cli.Commands.CannotStart;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Persistence of the state of a run, and sums of runs. */
class StateTest {
    private static final IncidentStatistics SOME = new IncidentStatistics(
            3, Map.of("FLUSHED", new Counts(10, 1, 2, 3, 4, 5, 6, 7), "EVICTED", new Counts(1, 0, 0, 0, 0, 0, 0, 0)));

    private static State state(Map<String, IncidentStatistics> figures) {
        return new State(5, List.of("FLUSHED", "EVICTED"), 9, 0, List.of("naive", "palisade"), figures);
    }

    @Test
    void savedStateIsLoaded(@TempDir Path directory) throws Exception {
        State state = state(Map.of("naive", SOME));
        state.save(directory);
        assertThat(State.load(directory, StoreUnderTest.REDIS)).isEqualTo(state);
        state.with("palisade", SOME).save(directory);
        assertThat(State.load(directory, StoreUnderTest.REDIS).of("palisade")).isEqualTo(SOME);
        assertThat(State.load(directory, StoreUnderTest.REDIS).of("redisson")).isEqualTo(IncidentStatistics.NONE);
    }

    @Test
    void invalidStateFileIsRejected(@TempDir Path directory) throws Exception {
        assertThatThrownBy(() -> State.load(directory, StoreUnderTest.REDIS))
                .isInstanceOf(CannotStart.class)
                .hasMessageContaining("state.json is not there");
        Files.writeString(directory.resolve("state.json"), "{\"seed\": \"x\"");
        assertThatThrownBy(() -> State.load(directory, StoreUnderTest.REDIS))
                .isInstanceOf(CannotStart.class)
                .hasMessageContaining("is not the state of such a run");
    }

    @Test
    void stateOfAnotherStoreIsRejected(@TempDir Path directory) throws Exception {
        state(Map.of()).save(directory);
        assertThatThrownBy(() -> State.load(directory, StoreUnderTest.POSTGRESQL))
                .isInstanceOf(CannotStart.class)
                .hasMessageContaining("is not of palisade chaos postgresql, which has no incident FLUSHED");
    }

    @Test
    void statisticsAreAddedByKind() {
        IncidentStatistics sum =
                SOME.plus(new IncidentStatistics(2, Map.of("FLUSHED", new Counts(1, 1, 1, 1, 1, 1, 1, 1))));
        assertThat(sum.done()).isEqualTo(5);
        assertThat(sum.byKind().get("FLUSHED")).isEqualTo(new Counts(11, 2, 3, 4, 5, 6, 7, 8));
        assertThat(sum.all()).isEqualTo(new Counts(12, 2, 3, 4, 5, 6, 7, 8));
    }

    @Test
    void excludedFaultIsNoViolation() {
        assertThat(new Counts(9, 0, 1, 2, 3, 4, 0, 0).excluded()).isEqualTo(new Counts(9, 0, 0, 0, 0, 0, 0, 10));
    }

    private static int print(Map<String, IncidentStatistics> figures) {
        return RunReport.print(figures, StoreUnderTest.REDIS);
    }

    @Test
    void onlyViolationsOfPalisadeFailTheRun() {
        IncidentStatistics nothing = new IncidentStatistics(1, Map.of("FLUSHED", new Counts(10, 0, 0, 0, 0, 0, 0, 0)));
        assertThat(print(Map.of("palisade", nothing, "naive", SOME))).isZero();
        assertThat(print(Map.of("palisade", SOME))).isOne();
        assertThat(print(Map.of("palisade", IncidentStatistics.NONE))).isOne();
    }
}
