package dev.palisade.incidents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** A planted bug is one that is really there. */
class RuleTest {
    @Test
    void anEditOfWhatIsThereOnceIsMade() {
        assertThat(new Rule("a b c").with("b", "x").code()).isEqualTo("a x c");
    }

    @Test
    void anEditOfWhatIsNotThereOrThereTwiceIsRefused() {
        assertThatThrownBy(() -> new Rule("a b c").with("d", "x")).hasMessageContaining("not there exactly once: d");
        assertThatThrownBy(() -> new Rule("a b b").with("b", "x")).hasMessageContaining("not there exactly once: b");
    }

    @Test
    void everyNameIsOnce() {
        assertThat(Subject.all().stream().map(Subject::name)).doesNotHaveDuplicates();
    }
}
