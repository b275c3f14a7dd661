package dev.palisade.scenario;

import com.google.gson.JsonObject;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * What one client process did and was answered: a JSON line per event, in a file and on standard output. A line that was
 * written survives a kill -9 of the process; none is ever changed.
 */
final class History {
    private final String client;
    private final FileOutputStream file;

    History(String client, Path path) throws IOException {
        this.client = client;
        this.file = new FileOutputStream(path.toFile(), true);
    }

    /** An event to fill with what belongs to it. */
    JsonObject event(String name) {
        JsonObject event = new JsonObject();
        event.addProperty("event", name);
        event.addProperty("client", client);
        event.addProperty("at", System.nanoTime());
        return event;
    }

    /** Writes {@code event} as one whole line. */
    synchronized void write(JsonObject event) {
        try {
            file.write((event + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        System.out.println(event);
    }
}
