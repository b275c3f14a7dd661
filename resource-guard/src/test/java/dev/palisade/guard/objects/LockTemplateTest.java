package dev.palisade.guard.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
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
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED_REQUEST));
    }
}
