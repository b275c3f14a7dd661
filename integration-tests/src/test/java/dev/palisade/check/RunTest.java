package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.Increment.Fate;
import dev.palisade.check.Marks.Mark;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RunTest {
    private static final Granted FIRST = new Granted("a", "r", false, 5, "a", 0, 1);
    private static final Granted SECOND = new Granted("b", "r", false, 6, "b", 2, 3);
    private static final List<Marks> MARKS = List.of(
            new Marks("restart", Map.of("r", new Mark(5, "a", 0))), new Marks("end", Map.of("r", new Mark(6, "b", 0))));

    private static AppliedCall call(long seq, boolean write, long token, String grant) {
        return new AppliedCall(seq, "r", "r", write, false, token, grant, write ? "h" + seq : "");
    }

    @Test
    void aRunInWhichTheStaleWriteWasRefusedPasses() {
        Run run = new Run(
                List.of(FIRST, SECOND),
                List.of(new Increment("x", "r", "h3", Fate.ACKNOWLEDGED), new Increment("y", "r", "h4", Fate.REFUSED)),
                List.of(call(1, false, 5, "a"), call(2, false, 6, "b"), call(3, true, 6, "b")),
                MARKS,
                List.of(new Counter("r", 1, "h3")));

        assertThat(run.violations()).isEmpty();
    }

    @Test
    void aRunInWhichTheStaleWriteWasAppliedIsFoundByEveryPropertyItBreaks() {
        Run run = new Run(
                List.of(FIRST, SECOND),
                List.of(
                        new Increment("x", "r", "h3", Fate.ACKNOWLEDGED),
                        new Increment("y", "r", "h4", Fate.ACKNOWLEDGED)),
                List.of(call(1, false, 5, "a"), call(2, false, 6, "b"), call(3, true, 6, "b"), call(4, true, 5, "a")),
                MARKS,
                List.of(new Counter("r", 1, "h4")));

        assertThat(run.violations())
                .extracting(violation -> violation.substring(0, violation.indexOf(':')))
                .containsExactlyInAnyOrder("P6", "P7", "P15");
    }

    @Test
    void everyCheckerIsAsked() {
        Run run = new Run(
                List.of(FIRST, new Granted("c", "r", false, 5, "c", 2, 3)),
                List.of(),
                List.of(call(1, false, 7, "x"), call(2, true, 6, "b"), call(3, true, 5, "a")),
                List.of(MARKS.get(1), MARKS.get(0)),
                List.of());

        assertThat(run.violations())
                .extracting(violation -> violation.substring(0, violation.indexOf(':')))
                .contains("P1", "P2", "P6", "P7", "P12", "P13", "P15");
    }
}
