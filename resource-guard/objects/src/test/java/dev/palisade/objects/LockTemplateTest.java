package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LockTemplateTest {
    @ParameterizedTest
    @CsvSource({
        "{key},           a/b/c, a/b/c",
        "objects/{key},   a/b/c, objects/a/b/c",
        "{key:1},         a/b/c, a",
        "{key:2},         a/b/c, a/b",
        "{key:3},         a/b/c, a/b/c",
        "{key:9},         a/b/c, a/b/c",
        "{key:1},         a,     a",
        "x/{key:1}/y,     a/b,   x/a/y",
        "everything,      a/b,   everything",
        "{key:1}-{key:1}, a/b,   a-a",
    })
    void aKeyHasOneLock(String template, String key, String lock) {
        assertThat(LockTemplate.parse(template).lockOf(key)).isEqualTo(new LockName(lock));
    }

    @ParameterizedTest
    @CsvSource({
        "{key:1},    a/,      a",
        "{key:1},    a/b,     a",
        "{key:2},    a/b/,    a/b",
        "everything, '',      everything",
        "o/{key:1},  a/b/c,   o/a",
    })
    void aPrefixThatOneLockGuardsHasThatLock(String template, String prefix, String lock) {
        assertThat(LockTemplate.parse(template).lockOfAll(prefix)).contains(new LockName(lock));
    }

    @ParameterizedTest
    @CsvSource({"{key}, a/", "{key}, ''", "{key:1}, a", "{key:1}, ''", "{key:2}, a/", "{key:2}, a/b", "o/{key}, a"})
    void aPrefixOfSeveralLocksHasNone(String template, String prefix) {
        assertThat(LockTemplate.parse(template).lockOfAll(prefix)).isEmpty();
    }

    /** Every name of up to five letters out of three, against the locks that all keys of up to six such letters have. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{key}",
                "o{key}",
                "{key}/",
                "{key:1}",
                "o/{key:1}",
                "{key:1}a",
                "{key:2}",
                "{key:2}/o",
                "{key:3}",
                "{key:1}{key:1}",
                "{key:1}/{key}",
                "{key}{key:1}",
                "{key:2}a{key:1}",
                "{key:1}{key:2}",
                "oa"
            })
    void exactlyTheLocksThatSomeKeyHasAreCalledSo(String text) {
        LockTemplate template = LockTemplate.parse(text);
        Set<String> possible = new HashSet<>();
        for (String key : texts(6)) {
            try {
                possible.add(template.lockOf(key).value());
            } catch (RejectedException e) {
                assertThat(key).as("the lock of this key has no name").startsWith("/");
            }
        }
        for (String name : texts(5)) {
            assertThat(template.lockCalled(name).map(LockName::value))
                    .as("lock '%s' of template %s", name, text)
                    .isEqualTo(possible.contains(name) ? Optional.of(name) : Optional.empty());
        }
    }

    /** All texts of 1 to {@code most} of the letters a, o and slash. */
    private static List<String> texts(int most) {
        List<String> texts = new ArrayList<>(List.of(""));
        int from = 0;
        for (int length = 1; length <= most; length++) {
            int to = texts.size();
            for (int i = from; i < to; i++) {
                for (String letter : List.of("a", "o", "/")) {
                    texts.add(texts.get(i) + letter);
                }
            }
            from = to;
        }
        return texts.subList(1, texts.size());
    }

    @Test
    void noLockHasANameThatIsTooLong() {
        LockTemplate template = LockTemplate.parse("{key}");
        assertThat(template.lockCalled("k".repeat(256))).isPresent();
        assertThat(template.lockCalled("k".repeat(257))).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "{name}", "{key:0}", "{key:17}", "{key:}", "}{key}", "{{key}}", "{key:-1}"})
    void whatIsNoTemplateIsRefusedInOneLine(String template) {
        assertThatThrownBy(() -> LockTemplate.parse(template))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + template + "'")
                .hasMessageNotContaining("\n");
    }

    @Test
    void aKeyWhoseLockNameWouldBeTooLongIsRefused() {
        LockTemplate template = LockTemplate.parse("{key}");
        assertThatThrownBy(() -> template.lockOf("k".repeat(257)))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED_REQUEST))
                .hasMessageContaining(
                        "the lock of this object, by the lock template '{key}', has a name of 257 bytes, the most is 256; "
                                + "use a shorter key");
        assertThat(LockTemplate.parse("{key:1}").lockOf("k/" + "x".repeat(510)).value())
                .isEqualTo("k");
    }
}
