package dev.palisade.faults;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Builder of a history for tests, event by event. Times are in milliseconds. */
final class HistoryBuilder {
    private final List<JsonObject> events = new ArrayList<>();

    /** @param fields as in JSON, without the braces */
    HistoryBuilder at(long millis, String client, String event, String fields) {
        JsonObject json =
                JsonParser.parseString("{" + fields.replace('\'', '"') + "}").getAsJsonObject();
        json.addProperty("client", client);
        json.addProperty("event", event);
        json.addProperty("at", nanos(millis));
        for (String time : List.of("asked", "sent", "from", "until", "answered")) {
            if (json.has(time)) {
                json.addProperty(time, nanos(json.get(time).getAsLong()));
            }
        }
        events.add(json);
        return this;
    }

    HistoryBuilder granted(long millis, String client, long token, long until) {
        return at(
                millis,
                client,
                "granted",
                "'asked':" + (millis - 1) + ",'lock':'l','mode':'EXCLUSIVE','op':'" + client + "-op','token':" + token
                        + ",'grant':'" + String.format("%030x00", token) + "','until':" + until);
    }

    void add(JsonObject event) {
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
