package dev.palisade.scenario;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** What the clients of a run have been seen to do so far, in the order in which it was seen. Safe for many threads. */
public final class Observed {
    private final List<JsonObject> events = new ArrayList<>();

    /** Takes a line of a client's output; what is no event is passed over. */
    public synchronized void take(String line) {
        if (line.startsWith("{")) {
            events.add(JsonParser.parseString(line).getAsJsonObject());
            notifyAll();
        }
    }

    public synchronized int size() {
        return events.size();
    }

    /** All of it so far. */
    public synchronized List<JsonObject> all() {
        return List.copyOf(events);
    }

    /** The first event from number {@code from} on that {@code wanted} accepts; waits for it. */
    public synchronized JsonObject await(int from, String what, Duration patience, Predicate<JsonObject> wanted) {
        long deadline = System.nanoTime() + patience.toNanos();
        int next = from;
        try {
            while (true) {
                for (; next < events.size(); next++) {
                    if (wanted.test(events.get(next))) {
                        return events.get(next);
                    }
                }
                long left = (deadline - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new ScenarioFailed("not seen within " + patience.toSeconds() + " s: " + what);
                }
                wait(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    public static boolean is(JsonObject event, String name) {
        return event.get("event").getAsString().equals(name);
    }

    public static String text(JsonObject event, String field) {
        return event.get(field).getAsString();
    }

    public static long number(JsonObject event, String field) {
        return event.get(field).getAsLong();
    }
}
