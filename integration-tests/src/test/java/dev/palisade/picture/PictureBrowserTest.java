package dev.palisade.picture;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.io.TempDirFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The page as a browser lays it out: {@code check.js} measures it there. With {@code -Dpalisade.screenshots=true} the images of the docs are made anew.
 */
class PictureBrowserTest {
    private static final Path ROOT = Path.of(System.getProperty("palisade.root"));

    /** Not in {@code /tmp}, where a browser from a snap package finds nothing. */
    @TempDir(factory = BelowTarget.class)
    private Path directory;

    private Chromium chromium;

    static final class BelowTarget implements TempDirFactory {
        @Override
        public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext context) throws IOException {
            return Files.createTempDirectory(ROOT.resolve("integration-tests/target"), "picture-");
        }
    }

    @BeforeEach
    void find() {
        chromium = Chromium.orSkip(directory);
    }

    private Path page(String run) throws Exception {
        Path file = directory.resolve(run + ".html");
        switch (run) {
            case "guarded" -> Picture.write("./palisade demo", Runs.pauseRace(true), List.of(), file);
            case "unguarded" ->
                Picture.write("./palisade demo --unguarded", Runs.pauseRace(false), List.of(Runs.LOST_UPDATE), file);
            default -> Picture.write("A fault run", Runs.faultRun(), List.of(), file);
        }
        return file;
    }

    /** What the script found in a page of that width that it was added to. */
    private JsonObject measured(Path page, int width, boolean dark) throws Exception {
        String script;
        try (InputStream in = Objects.requireNonNull(PictureBrowserTest.class.getResourceAsStream("check.js"))) {
            script = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        // A frame, because a window cannot be that narrow.
        String copy = Files.readString(page).replace("</body>", "<script>" + script + "</script></body>");
        Path frame = directory.resolve("frame.html");
        Files.writeString(
                frame,
                "<meta name=color-scheme content='light dark'><iframe style='border:0' width=" + width
                        + " height=900 srcdoc=\"" + copy.replace("&", "&amp;").replace("\"", "&quot;")
                        + "\"></iframe><script>onload = () => document.body.append("
                        + "frames[0].document.getElementById('measured'))</script>");
        String document = chromium.document(frame, dark);
        String found = document.replaceAll("(?s).*<pre id=\"measured\">([^<]*)</pre>.*", "$1");
        return JsonParser.parseString(URLDecoder.decode(found, StandardCharsets.UTF_8))
                .getAsJsonObject();
    }

    private static Set<String> texts(JsonElement array) {
        Set<String> texts = new TreeSet<>();
        StreamSupport.stream(array.getAsJsonArray().spliterator(), false)
                .forEach(element -> texts.add(element.getAsString()));
        return texts;
    }

    @ParameterizedTest
    @CsvSource({
        "guarded, 480, true, bad data lease ok over pause",
        "unguarded, 480, false, data lease lost ok over pause",
        "unguarded, 1280, true, data lease lost ok over pause",
        "faults, 480, false, admin bad cut data down lease link ok over pause",
        "faults, 1280, true, admin bad cut data down lease link ok over pause"
    })
    void nothingOverlapsOrScrollsAndTheLegendIsWhatOccurs(String run, int width, boolean dark, String legend)
            throws Exception {
        Path page = page(run);
        JsonObject found = measured(page, width, dark);

        assertThat(texts(found.get("errors"))).isEmpty();
        assertThat(found.get("width").getAsInt()).isEqualTo(width);
        assertThat(found.get("dark").getAsBoolean()).isEqualTo(dark);
        assertThat(found.get("scrollWidth").getAsInt()).isLessThanOrEqualTo(width);
        assertThat(found.get("labels").getAsInt()).isGreaterThan(20);
        assertThat(texts(found.get("overlaps"))).isEmpty();
        assertThat(texts(found.get("cutOff"))).isEmpty();
        assertThat(texts(found.get("pale"))).isEmpty();
        assertThat(texts(found.get("narrowBars"))).isEmpty();
        assertThat(texts(found.get("notFocusable"))).isEmpty();
        assertThat(texts(found.get("legend"))).isEqualTo(new TreeSet<>(List.of(legend.split(" "))));
        assertThat(found.get("headline").getAsString())
                .contains(run.equals("faults") ? "12 late calls" : "A was paused");
        assertThat(found.get("violations").getAsInt()).isEqualTo(run.equals("unguarded") ? 1 : 0);
    }

    @ParameterizedTest
    @CsvSource({"guarded, demo, 760", "unguarded, demo-unguarded, 760", "faults, chaos-run, 760"})
    void theImagesOfTheDocsAreMadeHere(String run, String name, int width) throws Exception {
        Path image = ROOT.resolve("docs/images/" + name + ".png");
        if (Boolean.getBoolean("palisade.screenshots")) {
            Path page = page(run);
            int height = measured(page, width, false).get("height").getAsInt();
            chromium.screenshot(page, width, Math.min(height, 1_100), image);
        }
        assertThat(image).isNotEmptyFile();
    }
}
