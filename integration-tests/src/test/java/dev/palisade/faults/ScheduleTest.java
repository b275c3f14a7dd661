package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.faults.Schedule.Kind;
import dev.palisade.faults.Schedule.Planned;
import dev.palisade.scenario.ScenarioFailed;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ScheduleTest {
    private static final List<Kind> KINDS = Kind.of(LockBackend.OWN_REDIS);
    private static final int ROUND = new Schedule(0, KINDS).firstRound();

    private static List<Planned> planned(long seed, int total) {
        Schedule schedule = new Schedule(seed, KINDS);
        return Stream.generate(schedule::next).limit(total).toList();
    }

    @Test
    void theSameSeedGivesTheSameFaultsAndAnotherSeedOthers() {
        assertThat(planned(7, 100)).isEqualTo(planned(7, 100)).isNotEqualTo(planned(8, 100));
    }

    @Test
    void everyKindHasItsTurnInEachRound() {
        List<Planned> planned = planned(7, 2 * ROUND);
        for (List<Planned> round : List.of(planned.subList(0, ROUND), planned.subList(ROUND, planned.size()))) {
            assertThat(round.stream().map(Planned::kind)).contains(Kind.values());
        }
    }

    @Test
    void aRedisIsHarmedOnlyIfItIsTheRunsOwnAndOnlyTheWayToItIfItIsGiven() {
        assertThat(Kind.of(LockBackend.DATA_DIR))
                .hasSize(14)
                .noneMatch(kind -> kind.name().contains("REDIS"));
        assertThat(Kind.of(LockBackend.REDIS))
                .containsAll(Kind.of(LockBackend.DATA_DIR))
                .contains(Kind.FREEZE_REDIS_LINK, Kind.CUT_REDIS_LINK)
                .hasSize(16);
        assertThat(KINDS).containsExactly(Kind.values());
    }

    @Test
    void faultsOverlap() {
        List<Planned> planned = planned(7, 200);
        long longer = 0;
        for (int i = 0; i + 1 < planned.size(); i++) {
            longer += planned.get(i).forMillis() > planned.get(i + 1).afterMillis() ? 1 : 0;
        }
        assertThat(longer).isGreaterThan(40);
    }

    @Test
    void aProcessWithAClockOfItsOwnIsRefused() {
        Cluster.requireSharedClock("c", 5, 6, 7);
        assertThatThrownBy(() -> Cluster.requireSharedClock("c", 5, 4, 7)).isInstanceOf(ScenarioFailed.class);
        assertThatThrownBy(() -> Cluster.requireSharedClock("c", 5, 8, 7))
                .isInstanceOf(ScenarioFailed.class)
                .hasMessageContaining("one clock for all processes");
    }
}
