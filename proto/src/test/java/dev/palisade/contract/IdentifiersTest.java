package dev.palisade.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class IdentifiersTest {
    @Test
    void aFencingTokenStaysWhereJavaScriptCountsExactly() {
        assertThat(FencingToken.MAX).isEqualTo(9_007_199_254_740_991L);
        assertThat(new FencingToken(1)).isLessThan(new FencingToken(FencingToken.MAX));
        assertThat(new FencingToken(34)).hasToString("34").isEqualByComparingTo(new FencingToken(34));
        assertThat((double) FencingToken.MAX).isNotEqualTo((double) (FencingToken.MAX - 1));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, FencingToken.MAX + 1, Long.MAX_VALUE})
    void aTokenOutOfRangeIsMalformed(long value) {
        LockNameTest.assertMalformed(() -> new FencingToken(value), String.valueOf(value));
    }

    @Test
    void idsAreSixteenBytesBothWays() {
        byte[] bytes = HexFormat.of().parseHex("00112233445566778899aabbccddeeff");
        assertThat(GrantId.of(bytes).toBytes()).isEqualTo(bytes);
        assertThat(GrantId.of(bytes)).hasToString("00112233445566778899aabbccddeeff");
        assertThat(SessionId.of(bytes).toBytes()).isEqualTo(bytes);
        assertThat(SessionId.of(bytes)).hasToString("00112233445566778899aabbccddeeff");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 15, 17, 1_000})
    void idsOfAnotherLengthAreMalformed(int length) {
        LockNameTest.assertMalformed(() -> GrantId.of(new byte[length]), length + " bytes, not 16");
        LockNameTest.assertMalformed(() -> SessionId.of(new byte[length]), length + " bytes, not 16");
    }

    @Test
    void aSessionThatForgotToDrawItsIdIsMalformed() {
        LockNameTest.assertMalformed(() -> SessionId.of(new byte[16]), "all zero");
    }

    @Test
    void peopleSeeOfASessionTheBeginningOfItsDigestAndNothingOfItself() {
        SessionId id = SessionId.of(HexFormat.of().parseHex("00112233445566778899aabbccddeeff"));
        assertThat(id.fingerprint()).isEqualTo("a8faed6abbf35c12a4b26e40f6feb19d736d90045c83b9f9a31f638d323e6811");
        assertThat(id.shortened()).isEqualTo("a8faed6a");
    }

    /** On the wire the number has no sign; the message names what was sent. */
    @ParameterizedTest
    @CsvSource({"0, 0", "-1, 18446744073709551615", "-9223372036854775808, 9223372036854775808"})
    void requestsCountFromOneTo2To63(long number, String sent) {
        LockNameTest.assertMalformed(
                () -> new RequestId(new SessionId(1, 2), number),
                "request id is " + sent + "; use 1 to 9223372036854775807");
    }
}
