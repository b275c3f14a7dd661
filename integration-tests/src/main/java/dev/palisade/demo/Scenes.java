package dev.palisade.demo;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;

/** What happened in a demo, as the events that a picture is drawn of: in the words of a client's history. */
final class Scenes {
    private final List<JsonObject> events = new ArrayList<>();

    /** An event now; {@code fields} are names and values by turns. */
    JsonObject add(String who, String event, Object... fields) {
        JsonObject added = new JsonObject();
        added.addProperty("event", event);
        added.addProperty("client", who);
        added.addProperty("at", System.nanoTime());
        for (int i = 0; i < fields.length; i += 2) {
            if (fields[i + 1] instanceof Number number) {
                added.addProperty(fields[i].toString(), number);
            } else {
                added.addProperty(fields[i].toString(), fields[i + 1].toString());
            }
        }
        events.add(added);
        return added;
    }

    List<JsonObject> events() {
        return List.copyOf(events);
    }
}
