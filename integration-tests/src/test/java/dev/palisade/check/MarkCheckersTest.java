package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.Marks.Mark;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MarkCheckersTest {
    private static final List<Granted> GRANTS = List.of(
            new Granted("c", "r", false, 5, "a", 0, 1),
            new Granted("c", "r", false, 6, "b", 2, 3),
            new Granted("c", "r", true, 7, "s", 4, 5));

    private static Marks marks(String when, long token, String grant, long shared) {
        return new Marks(when, Map.of("r", new Mark(token, grant, shared)));
    }

    private static AppliedCall call(boolean shared, long token, String grant) {
        return new AppliedCall(1, "r", "r", !shared, shared, token, grant, "h");
    }

    @Test
    void risingMarksOfRealGrantsPass() {
        List<Marks> clean = List.of(marks("one", 5, "a", 0), marks("two", 5, "a", 0), marks("three", 6, "b", 7));

        assertThat(MarksRise.violations(clean)).isEmpty();
        assertThat(MarksRise.violations(marks("end", 6, "b", 7), List.of(call(false, 6, "b"), call(true, 7, "s"))))
                .isEmpty();
        assertThat(OnlyAuthentic.violations(GRANTS, List.of(call(false, 5, "a")), clean))
                .isEmpty();
    }

    @Test
    void anExclusiveMarkThatGoesBackIsFound() {
        assertThat(MarksRise.violations(List.of(marks("one", 6, "b", 0), marks("two", 5, "a", 0))))
                .singleElement()
                .asString()
                .startsWith("P12")
                .contains("went back");
    }

    @Test
    void aSharedMarkThatGoesBackIsFound() {
        assertThat(MarksRise.violations(List.of(marks("one", 6, "b", 7), marks("two", 6, "b", 0))))
                .hasSize(1);
    }

    @Test
    void aMarkThatChangesItsGrantIsFound() {
        assertThat(MarksRise.violations(List.of(marks("one", 6, "b", 0), marks("two", 6, "a", 0))))
                .singleElement()
                .asString()
                .contains("changed its grant");
    }

    @Test
    void aMarkThatVanishesIsFound() {
        assertThat(MarksRise.violations(List.of(marks("one", 6, "b", 0), new Marks("two", Map.of()))))
                .singleElement()
                .asString()
                .contains("vanished");
    }

    @Test
    void aMarkBelowWhatWasAppliedIsFound() {
        assertThat(MarksRise.violations(marks("end", 5, "a", 0), List.of(call(false, 6, "b"))))
                .hasSize(1);
        assertThat(MarksRise.violations(marks("end", 5, "a", 0), List.of(call(true, 7, "s"))))
                .hasSize(1);
        assertThat(MarksRise.violations(new Marks("end", Map.of()), List.of(call(false, 6, "b"))))
                .hasSize(1);
    }

    @Test
    void aMarkThatNoGrantMadeIsFound() {
        assertThat(OnlyAuthentic.violations(GRANTS, List.of(), List.of(marks("one", (1L << 53) - 1, "f", 0))))
                .singleElement()
                .asString()
                .startsWith("P13");
        assertThat(OnlyAuthentic.violations(GRANTS, List.of(), List.of(marks("one", 5, "f", 0))))
                .hasSize(1);
    }

    @Test
    void aSharedMarkThatNoSharedGrantMadeIsFound() {
        assertThat(OnlyAuthentic.violations(GRANTS, List.of(), List.of(marks("one", 5, "a", 6))))
                .hasSize(1);
    }

    @Test
    void anAppliedCallThatNoGrantCoversIsFound() {
        assertThat(OnlyAuthentic.violations(GRANTS, List.of(call(false, 8, "x")), List.of()))
                .singleElement()
                .asString()
                .startsWith("P13");
    }
}
