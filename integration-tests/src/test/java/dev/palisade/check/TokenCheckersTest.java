package dev.palisade.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TokenCheckersTest {
    private static Granted granted(String lock, long token, String grant, long asked, long answered) {
        return new Granted("c", lock, false, token, grant, asked, answered);
    }

    @Test
    void grantsWithTokensOfTheirOwnPass() {
        List<Granted> clean =
                List.of(granted("l", 1, "a", 0, 1), granted("l", 2, "b", 2, 3), granted("m", 1, "c", 4, 5));

        assertThat(TokensUnique.violations(clean)).isEmpty();
        assertThat(TokensRise.violations(clean, List.of())).isEmpty();
    }

    @Test
    void oneTokenForTwoGrantsOfALockIsFound() {
        assertThat(TokensUnique.violations(List.of(granted("l", 1, "a", 0, 1), granted("l", 1, "b", 2, 3))))
                .singleElement()
                .asString()
                .startsWith("P1")
                .contains("one token");
    }

    @Test
    void oneGrantGivenToTwoClientsIsFound() {
        assertThat(TokensUnique.violations(List.of(granted("l", 1, "a", 0, 1), granted("l", 1, "a", 2, 3))))
                .singleElement()
                .asString()
                .startsWith("P1")
                .contains("twice");
    }

    @Test
    void oneGrantWithTwoTokensIsFound() {
        assertThat(TokensUnique.violations(List.of(granted("l", 1, "a", 0, 1), granted("l", 2, "a", 2, 3))))
                .hasSize(1);
    }

    @Test
    void aLaterGrantWithASmallerTokenIsFound() {
        assertThat(TokensRise.violations(List.of(granted("l", 5, "a", 0, 1), granted("l", 4, "b", 2, 3)), List.of()))
                .singleElement()
                .asString()
                .startsWith("P2");
    }

    @Test
    void aTokenThatRepeatsAfterOthersIsFound() {
        assertThat(TokensRise.violations(
                        List.of(granted("l", 5, "a", 0, 1), granted("l", 6, "b", 2, 3), granted("l", 6, "c", 4, 5)),
                        List.of()))
                .hasSize(1);
    }

    @Test
    void grantsWhoseTimesOverlapMayComeInEitherOrder() {
        assertThat(TokensRise.violations(List.of(granted("l", 5, "a", 0, 10), granted("l", 4, "b", 2, 3)), List.of()))
                .isEmpty();
    }

    @Test
    void tokensOfDifferentLocksAreNotCompared() {
        assertThat(TokensRise.violations(List.of(granted("l", 5, "a", 0, 1), granted("m", 4, "b", 2, 3)), List.of()))
                .isEmpty();
    }

    @Test
    void overALossOfAllDataTokensMayFallAndWithinWhatFollowsTheyMayNot() {
        Granted before = granted("l", 9, "a", 1, 2);
        Granted after = granted("l", 5, "b", 6, 7);
        DataLost loss = new DataLost(3, 4);
        assertThat(TokensRise.violations(List.of(before, after), List.of(loss))).isEmpty();
        assertThat(TokensRise.violations(List.of(before, after, granted("l", 4, "c", 8, 9)), List.of(loss)))
                .singleElement()
                .asString()
                .startsWith("P2")
                .contains("token 4", "token 5");
    }

    @Test
    void aLossBeforeOrAfterBothExcusesNoFallOfTokens() {
        List<Granted> fall = List.of(granted("l", 9, "a", 3, 4), granted("l", 5, "b", 6, 7));
        for (DataLost loss : List.of(new DataLost(1, 2), new DataLost(8, 9))) {
            assertThat(TokensRise.violations(fall, List.of(loss)))
                    .as("%s", loss)
                    .hasSize(1);
        }
    }
}
