package dev.palisade.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LockNameTest {
    /** The catalogue's check value of CRC-16/XMODEM is 0x31C3 for "123456789"; the others are well known too. */
    @ParameterizedTest
    @CsvSource({"123456789, 0x31C3", "A, 0x58E5", "foo, 0xAF96"})
    void theDomainIsCrc16Xmodem(String name, String crc) {
        assertThat(new LockName(name).domain()).isEqualTo(Integer.decode(crc) & 0xff);
    }

    @Test
    void theDomainIsOfTheBytesInUtf8() {
        for (String name : new String[] {"ä", "鎖", "🔒", "orders/42", "a".repeat(256)}) {
            assertThat(new LockName(name).domain()).isBetween(0, 255).isEqualTo(bitwise(name));
        }
    }

    private static int bitwise(String name) {
        int crc = 0;
        for (byte b : name.getBytes(java.nio.charset.StandardCharsets.UTF_8)) {
            for (int bit = 7; bit >= 0; bit--) {
                int out = ((crc >> 15) ^ (b >> bit)) & 1;
                crc = ((crc << 1) ^ (out * 0x1021)) & 0xffff;
            }
        }
        return crc % 256;
    }

    @Test
    void aNameHasOneTo256Bytes() {
        assertThat(new LockName("x").value()).isEqualTo("x");
        assertThat(new LockName("ä".repeat(128)).value()).hasSize(128);
        assertMalformed(() -> new LockName(""), "is empty");
        assertMalformed(() -> new LockName("x".repeat(257)), "257 bytes, the most is 256");
        assertMalformed(() -> new LockName("ä".repeat(129)), "258 bytes, the most is 256");
        assertMalformed(() -> new LockName("x".repeat(1_000_000)), "the most is 256");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\nb", "a\u0000b", "a\tb", "\u007f", "a\u0085b", "\r"})
    void controlCharactersAreRefused(String name) {
        assertMalformed(() -> new LockName(name), "control character");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\ud83d", "a\udd12", "\udd12\ud83d"})
    void halfASurrogatePairIsRefused(String name) {
        assertMalformed(() -> new LockName(name), "surrogate");
    }

    @Test
    void namesAreComparedByteForByte() {
        assertThat(new LockName("a")).isNotEqualTo(new LockName("A"));
        assertThat(new LockName("é")).isNotEqualTo(new LockName("e\u0301"));
        assertThat(new LockName("a")).isEqualTo(new LockName("a")).isLessThan(new LockName("b"));
    }

    static void assertMalformed(ThrowingCallable call, String because) {
        assertThatThrownBy(call).hasMessageContaining(because).isInstanceOfSatisfying(RejectedException.class, e -> {
            assertThat(e.reason()).isEqualTo(Reason.MALFORMED_REQUEST);
            assertThat(e.rejection().message()).doesNotContain("\n");
        });
    }
}
