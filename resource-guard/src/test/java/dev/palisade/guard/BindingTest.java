package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockName;
import org.junit.jupiter.api.Test;

/** Which names a resource can have. */
class BindingTest {
    private static final LockName LOCK = new LockName("orders/42");

    @Test
    void aResourceMayBeCalledLikeItsLockOrNot() {
        assertThat(Binding.of("orders/42")).isEqualTo(new Binding("orders/42", LOCK));
        assertThat(new Binding("r".repeat(Binding.RESOURCE_BYTES_MAX), LOCK).lock())
                .isEqualTo(LOCK);
    }

    @Test
    void aResourceThatIsNotCalledLikeItsLockIsLookedAt() {
        assertThatThrownBy(() -> new Binding("", LOCK)).hasMessageContaining("resource is empty");
        assertThatThrownBy(() -> new Binding("a\nb", LOCK)).hasMessageContaining("control character");
        assertThatThrownBy(() -> new Binding("r".repeat(Binding.RESOURCE_BYTES_MAX + 1), LOCK))
                .hasMessageContaining("513 bytes");
    }
}
