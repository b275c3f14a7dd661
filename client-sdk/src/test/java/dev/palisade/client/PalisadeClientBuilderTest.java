package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Mode;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PalisadeClientBuilderTest {
    @ParameterizedTest
    @ValueSource(strings = {"", "localhost", "localhost:", ":7600", "localhost:0", "localhost:65536", "a:1,b:2", "a:x"})
    void anAddressThatIsNoneIsRefusedInOneLine(String address) {
        assertThatThrownBy(() -> PalisadeClient.connect("localhost:7600", address))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("host:port")
                .hasMessageNotContaining("\n");
    }

    @Test
    void aClientNeedsAServer() {
        assertRefused(() -> PalisadeClient.builder().servers());
        assertRefused(() -> PalisadeClient.builder().target(" "));
        assertThatThrownBy(PalisadeClient.builder()::build)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("servers");
    }

    @Test
    void nonsenseSettingsAreRefused() {
        var builder = PalisadeClient.builder().servers("localhost:7600");
        assertRefused(() -> builder.ttl(Duration.ofMinutes(6)));
        assertRefused(() -> builder.ttl(Duration.ofMillis(-1)));
        assertRefused(() -> builder.callTimeout(Duration.ZERO));
        assertRefused(() -> builder.connectTimeout(Duration.ofSeconds(-1)));
        assertRefused(() -> builder.owner("two\nlines"));
    }

    @Test
    void theWaitIsNamedAndNeverADefault() {
        assertThat(AcquireOptions.trying().waitTime()).isZero();
        assertThat(AcquireOptions.waiting(Duration.ofSeconds(3)).waitTime()).isEqualTo(Duration.ofSeconds(3));
        assertThat(AcquireOptions.waiting().waitTime()).isEqualTo(AcquireOptions.WAIT_ENDLESS);
        assertThat(AcquireOptions.waiting().shared().mode()).isEqualTo(Mode.SHARED);
    }

    @Test
    void optionsHaveTheirDefaultsAndRefusals() {
        AcquireOptions defaults = AcquireOptions.trying();
        assertThat(defaults.mode()).isEqualTo(Mode.EXCLUSIVE);
        assertThat(defaults.waitTime()).isZero();
        assertThat(defaults.ttl()).isZero();
        assertThat(defaults.lockDelay()).isZero();
        assertThat(defaults.lockAtLeastFor()).isZero();
        assertThat(defaults.purpose()).isEmpty();
        assertRefused(() -> AcquireOptions.waiting(Duration.ofMillis(-1)));
        assertRefused(() -> defaults.ttl(Duration.ofMinutes(5).plusMillis(1)));
        assertRefused(() -> defaults.lockDelay(Duration.ofSeconds(61)));
        assertRefused(() -> defaults.lockAtLeastFor(Duration.ofMillis(-1)));
        assertRefused(() -> defaults.lockAtLeastFor(Duration.ofHours(1).plusMillis(1)));
        assertThat(defaults.lockAtLeastFor(Duration.ofHours(1)).shared().lockAtLeastFor())
                .isEqualTo(Duration.ofHours(1));
        assertRefused(() -> defaults.purpose("x".repeat(257)));
        assertThat(AcquireOptions.waiting(Duration.ofSeconds(Long.MAX_VALUE)).waitTime())
                .isEqualTo(AcquireOptions.WAIT_ENDLESS);
    }

    private static void assertRefused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class);
    }
}
