package dev.palisade.server.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.RejectedException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class UrlDecodingTest {
    @Test
    void namesArriveAsTheyAre() {
        assertThat(UrlDecoding.segments("/locks/a%2fb+c%2Bd/%E2%82%ac%c3%a6%F0%9F%94%92%25"))
                .containsExactly("locks", "a/b+c+d", "€æ🔒%");
        assertThat(UrlDecoding.segments("/\u00c3\u00a6")).as("not encoded").containsExactly("æ");
        assertThat(UrlDecoding.parameters("a=x+y%2b%20z&b", List.of("a", "b")))
                .isEqualTo(Map.of("a", "x y+ z", "b", ""));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "%",
                "%4",
                "a%",
                "%4g",
                "%g4",
                "%-1",
                "%+1",
                "% 1",
                "%%41",
                "%ff",
                "%c3%28",
                "%c0%80",
                "%ed%a0%80",
                "\u0142"
            })
    void whatIsNotPercentEncodedUtf8IsRefused(String text) {
        assertThatThrownBy(() -> UrlDecoding.segments("/" + text))
                .isInstanceOf(RejectedException.class)
                .hasMessageContaining("percent-encoded UTF-8");
    }
}
