package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.Increment.Fate;
import java.util.List;
import org.junit.jupiter.api.Test;

class CountersKeptTest {
    private static final List<Increment> INCREMENTS = List.of(
            new Increment("one", "k", "h1", Fate.ACKNOWLEDGED),
            new Increment("two", "k", "h2", Fate.UNKNOWN),
            new Increment("three", "k", "h3", Fate.REFUSED));

    private static AppliedCall write(String hash) {
        return new AppliedCall(1, "k", "k", true, false, 1, "g", hash);
    }

    private static List<String> check(List<AppliedCall> applied, long value, String hash) {
        return CountersKept.violations(INCREMENTS, applied, List.of(new Counter("k", value, hash)));
    }

    @Test
    void anUnknownIncrementMayBeAppliedOrNot() {
        assertThat(check(List.of(write("h1")), 1, "h1")).isEmpty();
        assertThat(check(List.of(write("h1"), write("h2")), 2, "h2")).isEmpty();
    }

    @Test
    void aLostIncrementIsFound() {
        assertThat(check(List.of(write("h1")), 0, "h1"))
                .singleElement()
                .asString()
                .startsWith("P15")
                .contains("counted 0");
    }

    @Test
    void aCounterAboveEverythingSentIsFound() {
        assertThat(check(List.of(write("h1"), write("h2")), 3, "h2")).hasSize(1);
    }

    @Test
    void anAcknowledgedIncrementThatIsNotInTheLogIsFound() {
        assertThat(check(List.of(write("h2")), 1, "h2"))
                .singleElement()
                .asString()
                .contains("ACKNOWLEDGED")
                .contains("0 times");
    }

    @Test
    void anIncrementThatWasAppliedTwiceIsFound() {
        assertThat(check(List.of(write("h1"), write("h1")), 1, "h1")).hasSize(1);
        assertThat(check(List.of(write("h1"), write("h2"), write("h2")), 2, "h2"))
                .hasSize(1);
    }

    @Test
    void aRefusedIncrementThatWasAppliedIsFound() {
        assertThat(check(List.of(write("h1"), write("h3")), 1, "h1"))
                .singleElement()
                .asString()
                .contains("REFUSED");
    }

    @Test
    void aCounterThatEndsAsARefusedIncrementLeftItIsFound() {
        assertThat(check(List.of(write("h1")), 1, "h3"))
                .singleElement()
                .asString()
                .contains("ends as the refused");
    }

    @Test
    void aWriteThatNobodySentIsFound() {
        assertThat(check(List.of(write("h1"), write("h9")), 1, "h1"))
                .singleElement()
                .asString()
                .contains("nobody sent");
    }
}
