package dev.palisade.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SamplesTest {
    private final Samples samples = new Samples();

    @Test
    void aPercentileIsTheLeastTimeThatSoManyDoNotExceed() {
        LongStream.rangeClosed(1, 2_000).map(i -> 2_001 - i).forEach(i -> samples.add(i * 1_000));

        assertThat(samples.micros(50)).isEqualTo(1_000);
        assertThat(samples.micros(99)).isEqualTo(1_980);
        assertThat(samples.micros(100)).isEqualTo(2_000);
    }

    @Test
    void ofOneTimeAllPercentilesAreThatTime() {
        samples.add(5_000);

        assertThat(samples.figures()).isEqualTo(Map.of(Samples.P50, 5.0, Samples.P99, 5.0));
    }

    @Test
    void ofNoneThereAreNoFigures() {
        assertThat(samples.figures()).isEmpty();
    }

    @Test
    void thoseOfOthersAreCountedToo() {
        Samples more = new Samples();
        more.add(1_000);
        more.add(3_000);
        samples.add(2_000);
        samples.addAll(more);

        assertThat(samples.count()).isEqualTo(3);
        assertThat(samples.micros(50)).isEqualTo(2);
    }
}
