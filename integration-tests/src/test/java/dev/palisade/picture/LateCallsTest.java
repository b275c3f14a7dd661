package dev.palisade.picture;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.picture.SequenceDiagram.Kind;
import dev.palisade.picture.SequenceDiagram.Step;
import java.util.List;
import org.junit.jupiter.api.Test;

class LateCallsTest {
    private static SequenceDiagram only(boolean guard, String... violations) {
        List<SequenceDiagram> diagrams = new LateCalls(Runs.pauseRace(guard), List.of(violations)).diagrams(10);
        assertThat(diagrams).hasSize(1);
        return diagrams.get(0);
    }

    private static Step last(SequenceDiagram diagram) {
        return diagram.steps().get(diagram.steps().size() - 1);
    }

    @Test
    void aRefusedWriteIsOneSentence() {
        SequenceDiagram diagram = only(true);

        assertThat(diagram.sentence())
                .isEqualTo(
                        "A was paused for 2.0 s and lost its lock; B wrote 39; A's late write of 38 with token ...585"
                                + " was refused.");
        assertThat(diagram.violation()).isFalse();
        assertThat(diagram.callers()).containsExactly("A", "B");
        assertThat(last(diagram))
                .isEqualTo(new Step(
                        2_170, 0, Kind.REFUSED, "writes 38, token ...585", "✗ refused: older than ...617", ""));
    }

    @Test
    void stepsAreInTheirOrderWithTheEndOfTheLease() {
        assertThat(only(true).steps())
                .extracting(Step::kind)
                .containsExactly(
                        Kind.GRANTED,
                        Kind.APPLIED,
                        Kind.PAUSED,
                        Kind.OVER,
                        Kind.GRANTED,
                        Kind.READ,
                        Kind.APPLIED,
                        Kind.RESUMED,
                        Kind.REFUSED);
    }

    @Test
    void aLostUpdateNamesBothValues() {
        SequenceDiagram diagram = only(false, Runs.LOST_UPDATE);

        assertThat(diagram.sentence())
                .isEqualTo(
                        "A was paused for 2.0 s and lost its lock; B wrote 39; A's late write of 38 with token ...585"
                                + " was applied and B's 39 is lost.");
        assertThat(diagram.violation()).isTrue();
        assertThat(last(diagram))
                .isEqualTo(
                        new Step(2_170, 0, Kind.LOST_UPDATE, "writes 38, token ...585", "✗ applied: 39 is lost", "38"));
    }

    @Test
    void aLateAnswerThatNoViolationNamesIsNoLostUpdate() {
        assertThat(new LateCalls(Runs.pauseRace(false), List.of()).diagrams(10)).isEmpty();
    }

    @Test
    void ofAFaultRunEveryRefusalHasADiagram() {
        LateCalls late = new LateCalls(Runs.faultRun(), List.of());

        assertThat(late.refusals()).isEqualTo(12);
        assertThat(late.diagrams(100))
                .hasSize(12)
                .allMatch(diagram -> diagram.callers().size() == 2);
        assertThat(late.diagrams(5)).hasSize(5);
        assertThat(late.diagrams(1).get(0).sentence())
                .isEqualTo("client-0 was paused for 0.7 s and lost its lock; client-2 wrote 700; client-0's late write"
                        + " of 200 with token ...000 was refused.");
    }

    @Test
    void aFaultRunIsSummedUpInOneSentence() {
        LateCalls late = new LateCalls(Runs.faultRun(), List.of());

        assertThat(Headline.of(Runs.faultRun(), late.refusals(), 0, late.diagrams(10)))
                .isEqualTo("8 clients ran for 60 s under 16 faults: 12 late calls were refused as stale, and every"
                        + " checked property held.");
        assertThat(Headline.of(Runs.faultRun(), 1, 2, List.of()))
                .endsWith("1 late call was refused as stale, and 2 violations were found.");
    }
}
