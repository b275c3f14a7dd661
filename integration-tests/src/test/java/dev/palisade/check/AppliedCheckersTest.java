package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class AppliedCheckersTest {
    private static AppliedCall write(long seq, long token, String grant) {
        return new AppliedCall(seq, "r", "r", true, false, token, grant, "h" + seq);
    }

    private static AppliedCall read(long seq, long token, String grant) {
        return new AppliedCall(seq, "r", "r", false, false, token, grant, "");
    }

    @Test
    void writesAndReadsOfRisingGrantsPass() {
        List<AppliedCall> clean = List.of(
                read(1, 5, "a"),
                write(2, 5, "a"),
                write(3, 5, "a"),
                read(4, 6, "b"),
                read(5, 7, "c"),
                write(6, 8, "d"));

        assertThat(WritesRise.violations(clean)).isEmpty();
        assertThat(ReadsFence.violations(clean)).isEmpty();
    }

    @Test
    void aWriteWithASmallerTokenIsFound() {
        assertThat(WritesRise.violations(List.of(write(1, 6, "b"), write(2, 5, "a"), write(3, 6, "b"))))
                .singleElement()
                .asString()
                .startsWith("P6")
                .contains("row 2");
    }

    @Test
    void aWriteWithAnEqualTokenAndAnotherGrantIsFound() {
        assertThat(WritesRise.violations(List.of(write(1, 6, "b"), write(2, 6, "a"))))
                .singleElement()
                .asString()
                .startsWith("P6")
                .contains("another grant");
    }

    @Test
    void aWriteOfASharedGrantIsFound() {
        assertThat(WritesRise.violations(List.of(new AppliedCall(1, "r", "r", true, true, 6, "b", "h"))))
                .hasSize(1);
    }

    @Test
    void aWriteAfterANewerGrantsReadIsFound() {
        assertThat(ReadsFence.violations(List.of(read(1, 5, "a"), read(2, 6, "b"), write(3, 5, "a"))))
                .singleElement()
                .asString()
                .startsWith("P7")
                .contains("row 3")
                .contains("row 2");
    }

    @Test
    void aWriteWithAReadersTokenAndAnotherGrantIsFound() {
        assertThat(ReadsFence.violations(List.of(read(1, 6, "b"), write(2, 6, "a"))))
                .hasSize(1);
    }

    @Test
    void aHoldersOwnReadDoesNotHideAnothers() {
        assertThat(ReadsFence.violations(List.of(read(1, 6, "b"), read(2, 7, "c"), read(3, 7, "c"), write(4, 6, "b"))))
                .hasSize(1);
        assertThat(ReadsFence.violations(List.of(read(1, 6, "b"), read(2, 5, "a"), write(3, 6, "b"))))
                .isEmpty();
        assertThat(ReadsFence.violations(List.of(read(1, 7, "c"), read(2, 6, "b"), read(3, 7, "c"), write(4, 6, "d"))))
                .hasSize(1);
    }

    @Test
    void resourcesAreNotCompared() {
        List<AppliedCall> two =
                List.of(write(1, 6, "b"), new AppliedCall(2, "other", "other", true, false, 5, "a", "h"));

        assertThat(WritesRise.violations(two)).isEmpty();
        assertThat(ReadsFence.violations(two)).isEmpty();
    }
}
