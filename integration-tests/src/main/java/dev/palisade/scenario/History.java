package dev.palisade.scenario;

import com.google.gson.JsonObject;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * What one client process did and was answered: a JSON line per event, in a file and, if asked to, on standard output. A line that was
 * written survives a kill -9 of the process; none is ever changed. Its times are
 * {@link System#nanoTime}, which on Linux is one clock for all processes of a machine. Safe for many threads.
 */
public final class History {
    private final String client;
    private final FileOutputStream file;
    private final boolean aloud;

    /** Also says every event on standard output. */
    History(String client, Path path) throws IOException {
        this(client, path, true);
    }

    private History(String client, Path path, boolean aloud) throws IOException {
        this.client = client;
        this.file = new FileOutputStream(path.toFile(), true);
        this.aloud = aloud;
    }

    /** In the file only: for a run that is too long to be heard out. */
    public static History silent(String client, Path path) throws IOException {
        return new History(client, path, false);
    }

    /** An event to fill with what belongs to it. */
    public JsonObject event(String name) {
        JsonObject event = new JsonObject();
        event.addProperty("event", name);
        event.addProperty("client", client);
        event.addProperty("at", System.nanoTime());
        return event;
    }

    /** Writes {@code event} as one whole line. */
    public synchronized void write(JsonObject event) {
        try {
            file.write((event + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (aloud) {
            System.out.println(event);
        }
    }
}
