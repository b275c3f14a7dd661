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
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;

/**
 * Writes events as one HTML file that needs nothing else: the page of this package's resources with the events in it. What processes have said stays data: no
 * character of it can end the element it is in, and the page shows it as text only.
 */
public final class Picture {
    private static final String DATA = "\"the data go here\"";
    private static final String PAGE = page();
    private static final Gson GSON = new Gson();
    /** So many late calls have a diagram; a page with more of them would be slow to open. */
    private static final int DIAGRAMS_MAX = 300;
    /** Beyond these the tokens of a run cannot be compared by eye anyway. */
    private static final int DIGITS_MAX = 6;

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
     * Replaces {@code file}; a reader sees the old page or the new one.
     *
     * @param title what was run
     * @param events in the order of their times
     * @param violations what is wrong, in words
     */
    public static void write(String title, List<JsonObject> events, List<String> violations, Path file)
            throws IOException {
        Path made = Files.createTempFile(file.toAbsolutePath().getParent(), "picture", ".tmp");
        try {
            // Gson writes < > & = ' as escapes, so that the text can stand in a script element.
            Files.writeString(made, PAGE.replace(DATA, GSON.toJson(data(title, events, violations))));
            Files.setPosixFilePermissions(made, PosixFilePermissions.fromString("rw-r--r--"));
            Files.move(made, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(made);
        }
    }

    private static JsonObject data(String title, List<JsonObject> events, List<String> violations) {
        LateCalls late = new LateCalls(events, violations);
        List<SequenceDiagram> diagrams = late.diagrams(DIAGRAMS_MAX);
        ShortTokens tokens = new ShortTokens(4);
        JsonArray all = new JsonArray();
        for (JsonObject event : events) {
            String name = event.get("event").getAsString();
            if (name.equals("granted") && event.has("token")) {
                tokens.of(event.get("token").getAsLong());
            }
            if (DRAWN.contains(name)) {
                all.add(shown(event, BRIEF.contains(name)));
            }
        }
        JsonObject data = new JsonObject();
        data.addProperty("title", title);
        data.addProperty("headline", Headline.of(events, late.refusals(), violations.size(), diagrams));
        data.addProperty("digits", Math.min(tokens.digits(), DIGITS_MAX));
        data.addProperty("refusals", late.refusals());
        data.add("events", all);
        data.add("violations", GSON.toJsonTree(violations));
        data.add("diagrams", GSON.toJsonTree(diagrams));
        return data;
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

    /** The page, with its style and its script in it. */
    private static String page() {
        return resource("page.html")
                .replace("/* style */", resource("page.css"))
                .replace("/* script */", resource("diagram.js") + resource("lanes.js") + resource("page.js"));
    }

    private static String resource(String name) {
        try (InputStream in = Picture.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException(name + " is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
