package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import dev.palisade.check.Granted;
import dev.palisade.check.Increment;
import dev.palisade.check.Increment.Fate;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The histories of all clients, as input of the checkers. The outcome of an increment without a reply is unknown. */
record Histories(List<Granted> grants, List<Increment> increments, List<JsonObject> events) {
    static Histories read(Path directory) throws IOException {
        return of(events(directory));
    }

    /** The events of all processes as one file, in the order of their times. */
    static Path merge(Path directory, Path merged) throws IOException {
        List<JsonObject> events = events(directory);
        events.sort(Comparator.comparingLong(event -> number(event, "at")));
        return Files.write(merged, events.stream().map(JsonObject::toString).toList());
    }

    /** The events of one file, or of all files in a directory. */
    static List<JsonObject> events(Path path) throws IOException {
        List<JsonObject> events = new ArrayList<>();
        try (Stream<Path> files = Files.isDirectory(path) ? Files.list(path) : Stream.of(path)) {
            for (Path file : files.sorted().toList()) {
                List<String> lines = Files.readAllLines(file);
                for (int i = 0; i < lines.size(); i++) {
                    try {
                        events.add(JsonParser.parseString(lines.get(i)).getAsJsonObject());
                    } catch (JsonParseException | IllegalStateException e) {
                        if (i < lines.size() - 1) {
                            throw new IOException(file + ", line " + (i + 1) + " is no event", e);
                        } // A killed client may leave an incomplete last line.
                    }
                }
            }
        }
        return events;
    }

    /** Whether a guard has refused a stale call so far, by the histories of processes that still write them. */
    static boolean containRefusal(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                if (Files.readString(file).contains("\"reason\":\"TOKEN_STALE\"")) {
                    return true;
                }
            }
        }
        return false;
    }

    static Histories of(List<JsonObject> events) {
        List<Granted> grants = new ArrayList<>();
        Map<String, Increment> increments = new LinkedHashMap<>();
        for (JsonObject event : events) {
            if (is(event, "granted")) {
                grants.add(new Granted(
                        text(event, "client"),
                        text(event, "lock"),
                        text(event, "mode").equals("SHARED"),
                        number(event, "token"),
                        text(event, "grant"),
                        number(event, "asked"),
                        number(event, "at")));
            } else if (is(event, "sending")) {
                String op = text(event, "op");
                increments.put(
                        op, new Increment(op, text(event, "lock"), sha256(text(event, "content")), Fate.UNKNOWN));
            } else if (is(event, "acknowledged")) {
                settle(increments, event, Fate.ACKNOWLEDGED);
            } else if (is(event, "refused")) {
                settle(increments, event, Fate.REFUSED);
            }
        }
        return new Histories(grants, List.copyOf(increments.values()), events);
    }

    private static void settle(Map<String, Increment> increments, JsonObject event, Fate fate) {
        increments.computeIfPresent(
                text(event, "op"), (op, sent) -> new Increment(op, sent.key(), sent.contentHash(), fate));
    }

    static String sha256(String text) {
        try {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
