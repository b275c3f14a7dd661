package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.incidents.Schedule.Planned;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A seed is all that decides. */
class ScheduleTest {
    private static final List<RedisIncident> ALL = List.of(RedisIncident.values());

    private static List<Planned<RedisIncident>> first(int number, long seed) {
        Schedule<RedisIncident> schedule = new Schedule<>(seed, ALL);
        return Stream.generate(schedule::next).limit(number).toList();
    }

    @Test
    void theSameSeedGivesTheSameIncidentsAtTheSameMoments() {
        assertThat(first(100, 5)).isEqualTo(first(100, 5)).isNotEqualTo(first(100, 6));
    }

    @Test
    void everyKindHasItsTurnBeforeAnyHasAnother() {
        assertThat(first(2 * ALL.size(), 5).stream().map(Planned::kind).limit(ALL.size()))
                .containsExactlyInAnyOrderElementsOf(ALL);
        assertThat(first(2 * ALL.size(), 5).stream().map(Planned::kind).skip(ALL.size()))
                .containsExactlyInAnyOrderElementsOf(ALL);
    }
}
