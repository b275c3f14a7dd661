package dev.palisade.picture;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ShortTokensTest {
    private final ShortTokens tokens = new ShortTokens(4);

    @Test
    void theLastDigitsTellTwoTokensApart() {
        assertThat(tokens.of(373_865_659_203_585L)).isEqualTo("...585");
        assertThat(tokens.of("373865659203617")).isEqualTo("...617");
    }

    @Test
    void aTokenNearARoundNumberHasMoreDigitsFromTheStart() {
        assertThat(tokens.of(373_865_659_203_985L)).isEqualTo("...3985");
        assertThat(tokens.of(373_865_659_204_017L)).isEqualTo("...4017");
    }

    @Test
    void aLargerTokenReadsAsALargerNumber() {
        long before = 0;
        for (long token = 373_865_659_203_585L; token < 373_865_659_253_585L; token += 32) {
            long shown = Long.parseLong(tokens.of(token).substring(3));
            assertThat(shown).isGreaterThan(before);
            before = shown;
        }
    }

    @Test
    void tokensOfManyGrantsHaveEquallyManyDigits() {
        ShortTokens many = new ShortTokens(1_000);

        assertThat(many.of(373_865_659_203_585L)).isEqualTo("...03585");
        assertThat(many.of(373_865_659_235_585L)).isEqualTo("...35585");
    }

    @Test
    void ofANewEpochEnoughDigitsAreShown() {
        tokens.of(373_865_659_203_585L);

        assertThat(tokens.of(373_865_700_000_001L)).isEqualTo("...700000001");
    }

    @Test
    void aSmallTokenIsWhole() {
        assertThat(tokens.of(33)).isEqualTo("33");
        assertThat(tokens.of(34)).isEqualTo("34");
    }
}
