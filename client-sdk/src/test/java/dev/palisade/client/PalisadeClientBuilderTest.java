package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PalisadeClientBuilderTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "localhost",
                "localhost:",
                ":7600",
                "localhost:0",
                "localhost:65536",
                "a:1,",
                "a:1,,b:2",
                "a:x"
            })
    void anAddressThatIsNoneIsRefusedInOneLine(String addresses) {
        assertThatThrownBy(() -> PalisadeClient.connect(addresses))
                .isInstanceOf(RejectedException.class)
                .hasMessageContaining("host:port")
                .hasMessageNotContaining("\n");
    }

    @Test
    void nonsenseSettingsAreRefused() {
        var builder = PalisadeClient.builder("localhost:7600");
        assertRefused(() -> builder.ttl(Duration.ofMinutes(6)));
        assertRefused(() -> builder.ttl(Duration.ofMillis(-1)));
        assertRefused(() -> builder.callTimeout(Duration.ZERO));
        assertRefused(() -> builder.connectTimeout(Duration.ofSeconds(-1)));
        assertRefused(() -> builder.owner("two\nlines"));
    }

    @Test
    void optionsHaveTheirDefaultsAndRefusals() {
        AcquireOptions defaults = AcquireOptions.defaults();
        assertThat(defaults.mode()).isEqualTo(Mode.EXCLUSIVE);
        assertThat(defaults.waitTime()).isZero();
        assertThat(defaults.ttl()).isZero();
        assertThat(defaults.lockDelay()).isZero();
        assertThat(defaults.purpose()).isEmpty();
        assertRefused(() -> defaults.wait(Duration.ofMillis(-1)));
        assertRefused(() -> defaults.ttl(Duration.ofMinutes(5).plusMillis(1)));
        assertRefused(() -> defaults.lockDelay(Duration.ofSeconds(61)));
        assertRefused(() -> defaults.purpose("x".repeat(257)));
        assertThat(defaults.wait(Duration.ofSeconds(Long.MAX_VALUE)).waitTime()).isEqualTo(AcquireOptions.WAIT_ENDLESS);
    }

    private static void assertRefused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(RejectedException.class);
    }
}
