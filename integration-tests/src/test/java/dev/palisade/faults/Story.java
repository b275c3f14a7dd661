package dev.palisade.faults;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A history for tests, told event by event. Times are in milliseconds. */
final class Story {
    private final List<JsonObject> events = new ArrayList<>();

    /** @param fields as in JSON, without the braces */
    Story at(long millis, String client, String event, String fields) {
        JsonObject told =
                JsonParser.parseString("{" + fields.replace('\'', '"') + "}").getAsJsonObject();
        told.addProperty("client", client);
        told.addProperty("event", event);
        told.addProperty("at", nanos(millis));
        for (String time : List.of("asked", "sent", "from", "until", "answered")) {
            if (told.has(time)) {
                told.addProperty(time, nanos(told.get(time).getAsLong()));
            }
        }
        events.add(told);
        return this;
    }

    Story granted(long millis, String client, long token, long until) {
        return at(
                millis,
                client,
                "granted",
                "'asked':" + (millis - 1) + ",'lock':'l','mode':'EXCLUSIVE','op':'" + client + "-op','token':" + token
                        + ",'grant':'" + String.format("%030x00", token) + "','until':" + until);
    }

    void keep(JsonObject event) {
        events.add(event);
    }

    List<JsonObject> events() {
        return events.stream()
                .sorted(Comparator.comparingLong(event -> event.get("at").getAsLong()))
                .toList();
    }

    static long nanos(long millis) {
        return millis * 1_000_000;
    }
}
