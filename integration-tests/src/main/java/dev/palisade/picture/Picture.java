package dev.palisade.picture;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * Writes events as one HTML file that needs nothing else: the page of this package's resources with the events in it. What processes have said stays data: no
 * character of it can end the element it is in, and the page shows it as text only.
 */
public final class Picture {
    private static final String PLACE = "\"the events go here\"";
    private static final String PAGE = page();
    private static final Set<String> DRAWN = Set.of(
            "run",
            "started",
            "killed",
            "granted",
            "granted-again",
            "valid",
            "releasing",
            "lost",
            "read",
            "acknowledged",
            "refused",
            "read-failed",
            "unknown",
            "forged",
            "operated",
            "fault-began",
            "fault-ended",
            "quiet");
    private static final Set<String> NOT_SHOWN = Set.of("content", "sent", "sha256", "version");
    /** Of what went well a tick is drawn; a renewal only moves the end of its lease. */
    private static final Set<String> BRIEF = Set.of("read", "acknowledged", "valid", "releasing");

    private static final Set<String> SHOWN_OF_BRIEF =
            Set.of("event", "client", "at", "lock", "token", "grant", "until");

    private Picture() {}

    /**
     * @param events in the order of their times
     * @param violations what is wrong, in words
     */
    public static void write(String title, List<JsonObject> events, List<String> violations, Path file)
            throws IOException {
        JsonObject data = new JsonObject();
        data.addProperty("title", title);
        JsonArray all = new JsonArray();
        for (JsonObject event : events) {
            String name = event.get("event").getAsString();
            if (DRAWN.contains(name)) {
                all.add(shown(event, BRIEF.contains(name)));
            }
        }
        data.add("events", all);
        JsonArray wrong = new JsonArray();
        violations.forEach(wrong::add);
        data.add("violations", wrong);
        // Gson writes < > & = ' as escapes, so that the text can stand in a script element.
        Files.writeString(file, PAGE.replace(PLACE, new Gson().toJson(data)));
    }

    private static JsonObject shown(JsonObject event, boolean brief) {
        JsonObject shown = new JsonObject();
        event.asMap().forEach((field, value) -> {
            if (brief ? SHOWN_OF_BRIEF.contains(field) : !NOT_SHOWN.contains(field)) {
                shown.add(field, value);
            }
        });
        return shown;
    }

    private static String page() {
        try (InputStream in = Picture.class.getResourceAsStream("timeline.html")) {
            if (in == null) {
                throw new IllegalStateException("timeline.html is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
