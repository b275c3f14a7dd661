package dev.palisade.picture;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PictureTest {
    private static final String HOSTILE = "</script><script>alert(1)</script><!-- \u2028 \" ' & $1 \\";

    @TempDir
    private Path directory;

    private String page(JsonObject event) throws Exception {
        Path file = directory.resolve("page.html");
        Picture.write(HOSTILE, List.of(event), List.of(HOSTILE), file);
        return Files.readString(file);
    }

    private static JsonObject data(String page) {
        int from = page.indexOf("id=\"data\">") + "id=\"data\">".length();
        return JsonParser.parseString(page.substring(from, page.indexOf("</script>", from)))
                .getAsJsonObject();
    }

    private static JsonObject event(String name) {
        JsonObject event = new JsonObject();
        event.addProperty("event", name);
        event.addProperty("client", HOSTILE);
        event.addProperty("at", 5);
        event.addProperty("lock", HOSTILE);
        event.addProperty("content", "not shown");
        return event;
    }

    @Test
    void whatAProcessHasSaidStaysDataAndIsAllThere() throws Exception {
        String page = page(event("refused"));

        assertThat(page).doesNotContain("alert(1)</script>", "<!-- \u2028");
        assertThat(page.split("<script", -1)).hasSize(3);
        JsonObject shown = data(page).getAsJsonArray("events").get(0).getAsJsonObject();
        assertThat(shown.get("client").getAsString()).isEqualTo(HOSTILE);
        assertThat(shown.has("content")).isFalse();
        assertThat(data(page).get("title").getAsString()).isEqualTo(HOSTILE);
    }

    @Test
    void thePageLoadsNothingAndPutsNoTextInAsMarkup() throws Exception {
        String page = page(event("granted"));

        assertThat(page)
                .contains("default-src 'none'")
                .doesNotContain("http:", "https:", " src=", "@import", "url(", "innerHTML", "outerHTML")
                .doesNotContain("insertAdjacentHTML", "document.write", "eval(");
    }

    @Test
    void whatIsNotDrawnIsLeftOut() throws Exception {
        assertThat(data(page(event("lock-history"))).getAsJsonArray("events")).isEmpty();
    }

    @Test
    void thePageOfALostUpdateHasTheViolationAndItsDiagram() throws Exception {
        Path file = directory.resolve("page.html");
        Picture.write("a demo", Runs.pauseRace(false), List.of(Runs.LOST_UPDATE), file);

        JsonObject data = data(Files.readString(file));
        assertThat(data.get("headline").getAsString()).endsWith("was applied and B's 39 is lost.");
        assertThat(data.getAsJsonArray("violations").get(0).getAsString()).contains("38", "39", "" + Runs.TOKEN_A);
        assertThat(data.getAsJsonArray("diagrams")).hasSize(1);
        assertThat(data.get("refusals").getAsInt()).isZero();
    }

    @Test
    void aPageIsReplacedAndEveryoneMayReadIt() throws Exception {
        Path file = Files.writeString(directory.resolve("page.html"), "old");
        Picture.write("a demo", Runs.pauseRace(true), List.of(), file);

        assertThat(Files.readString(file)).startsWith("<!DOCTYPE html>").contains("A was paused for 2.0 s");
        assertThat(directory.toFile().list()).containsExactly("page.html");
        assertThat(Files.getPosixFilePermissions(file)).contains(PosixFilePermission.OTHERS_READ);
    }
}
