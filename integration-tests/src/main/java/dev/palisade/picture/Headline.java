package dev.palisade.picture;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Summary of a run in one sentence, the first of its page. */
final class Headline {
    private Headline() {}

    /** The sentence of the only diagram, if there is one and it tells the whole run; else how much there was of what. */
    static String of(List<JsonObject> events, int refusals, int violations, List<SequenceDiagram> diagrams) {
        boolean random = events.stream().anyMatch(event -> named(event, "run") && event.has("seed"));
        if (diagrams.size() == 1 && !random) {
            return diagrams.get(0).sentence();
        }
        long clients = events.stream()
                .filter(event -> named(event, "granted"))
                .map(event -> event.get("client"))
                .distinct()
                .count();
        Set<String> faults = Set.of("fault-began", "operated");
        long faultsDone = events.stream()
                .filter(event -> faults.contains(event.get("event").getAsString()))
                .count();
        double seconds = events.isEmpty() ? 0 : (at(events, events.size() - 1) - at(events, 0)) / 1e9;
        return String.format(
                Locale.ROOT,
                "%s ran for %.0f s under %s: %s refused as stale, and %s.",
                many(clients, "client"),
                seconds,
                many(faultsDone, "fault"),
                many(refusals, "late call") + (refusals == 1 ? " was" : " were"),
                violations == 0
                        ? "every checked property held"
                        : many(violations, "violation") + (violations == 1 ? " was" : " were") + " found");
    }

    private static boolean named(JsonObject event, String name) {
        return event.get("event").getAsString().equals(name);
    }

    private static long at(List<JsonObject> events, int index) {
        return events.get(index).get("at").getAsLong();
    }

    private static String many(long count, String one) {
        return String.format(Locale.ROOT, "%,d %s", count, count == 1 ? one : one + "s");
    }
}
