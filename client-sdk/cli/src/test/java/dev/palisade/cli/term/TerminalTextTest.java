package dev.palisade.cli.term;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.List;
import org.junit.jupiter.api.Test;

class TerminalTextTest {
    @Test
    void controlAndBidiCharactersAreEscaped() {
        assertThat(TerminalText.text("a\u001b[2Jb\nc\rd\u009b1me\u202ef\u2028g\u0007"))
                .isEqualTo("a\\u{1b}[2Jb\\u{a}c\\u{d}d\\u{9b}1me\\u{202e}f\\u{2028}g\\u{7}");
    }

    @Test
    void escapedJsonHasTheSameValue() {
        JsonObject object = new JsonObject();
        object.addProperty("owner", "a\u001b[2Jb\u009b1mc\u202ed\u007fe\udbff\udffff \\ \" Größe 😀");
        String shown = TerminalText.json(object.toString());
        assertThat(shown)
                .doesNotContainPattern("[\\p{Cntrl}\u0080-\u009f\u202e]")
                .contains("Größe 😀");
        assertThat(JsonParser.parseString(shown)).isEqualTo(object);
    }

    @Test
    void printableTextIsUnchanged() {
        assertThat(TerminalText.text("backup/db 1 – Größe 日本 😀")).isEqualTo("backup/db 1 – Größe 日本 😀");
    }

    @Test
    void tableColumnsAreAligned() {
        assertThat(TerminalText.table(List.of(List.of("A", "LONGER", ""), List.of("long", "x\ty", "z"))))
                .isEqualTo("A     LONGER\nlong  x\\u{9}y  z\n");
    }
}
