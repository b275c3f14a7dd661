package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.Ages;
import dev.palisade.cli.term.Plain;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.StoreReply;
import java.time.Clock;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/** Output of a store, and of the epoch of a lock, as text and as JSON. */
final class StoreText {
    /** Of more ranges than this only their number is printed. */
    private static final int RANGES_MAX = 4;

    private StoreText() {}

    static String shown(StoreReply store, Clock clock) {
        StringBuilder text = new StringBuilder(store.getKind());
        if (!store.getWhere().isEmpty()) { // A Redis of which no primary was met has no address yet.
            text.append(" at ").append(store.getWhere());
        }
        if (!store.getDetail().isEmpty()) {
            text.append(" (").append(store.getDetail()).append(')');
        }
        text.append(store.getUp() ? ": up since " : ": DOWN since ")
                .append(Ages.ago(Instant.ofEpochMilli(store.getSinceEpochMillis()), clock.instant(), clock.getZone()));
        if (!store.getWhy().isEmpty()) {
            text.append(store.getUp() ? "; before that: " : ": ").append(store.getWhy());
        }
        String line = Plain.text(text.toString()) + "\n";
        return store.getEpochsList().isEmpty() ? line : line + "\n" + Plain.table(rows(store, clock));
    }

    /** One line, such as {@code epoch: tokens above 12, since 3.0 s ago (...): this server started}. */
    static String shown(Epoch epoch, Clock clock) {
        String recovering = epoch.getRecoveringMillis() == 0
                ? ""
                : "; recovering from data loss: no new locks for " + Ages.ofMillis(epoch.getRecoveringMillis());
        return Plain.text("epoch: tokens above " + epoch.getBaseToken() + ", since "
                        + Ages.ago(began(epoch), clock.instant(), clock.getZone()) + ": " + epoch.getWhy() + recovering)
                + "\n";
    }

    static JsonObject json(StoreReply store) {
        JsonObject json = new JsonObject();
        json.addProperty("kind", store.getKind());
        json.addProperty("where", store.getWhere());
        json.addProperty("detail", store.getDetail());
        json.addProperty("up", store.getUp());
        json.addProperty(
                "since", Instant.ofEpochMilli(store.getSinceEpochMillis()).toString());
        json.addProperty("why", store.getWhy());
        json.addProperty("domains", store.getDomains());
        JsonArray epochs = new JsonArray();
        store.getEpochsList().forEach(epoch -> epochs.add(json(epoch)));
        json.add("epochs", epochs);
        return json;
    }

    static JsonObject json(Epoch epoch) {
        JsonObject json = new JsonObject();
        json.addProperty("domain", epoch.getDomain());
        json.addProperty("base_token", epoch.getBaseToken());
        json.addProperty("began_at", began(epoch).toString());
        json.addProperty("why", epoch.getWhy());
        LockText.add(json, "recovering_millis", epoch.getRecoveringMillis());
        LockText.add(json, "ahead_millis", epoch.getAheadMillis());
        return json;
    }

    /** What epochs of one row have in common: they began for the same reason, in the same second. */
    private record Alike(String why, Instant second, boolean recovering) {
        static Alike of(Epoch epoch) {
            return new Alike(
                    epoch.getWhy(), began(epoch).truncatedTo(ChronoUnit.SECONDS), epoch.getRecoveringMillis() != 0);
        }
    }

    /** Epochs that began together are one row: there may be hundreds. */
    private static List<List<String>> rows(StoreReply store, Clock clock) {
        Map<Alike, List<Epoch>> groups = new LinkedHashMap<>();
        store.getEpochsList()
                .forEach(epoch -> groups.computeIfAbsent(Alike.of(epoch), any -> new ArrayList<>())
                        .add(epoch));
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("DOMAINS", "TOKENS ABOVE", "BEGAN", "BECAUSE", "RECOVERING", "AHEAD OF THE CLOCK"));
        for (List<Epoch> alike : groups.values()) {
            Epoch first = alike.get(0);
            rows.add(List.of(
                    domains(alike, store.getDomains()),
                    String.valueOf(
                            alike.stream().mapToLong(Epoch::getBaseToken).min().orElseThrow()),
                    Ages.ago(began(first), clock.instant(), clock.getZone()),
                    first.getWhy(),
                    longest(alike.stream().mapToLong(Epoch::getRecoveringMillis)),
                    longest(alike.stream().mapToLong(Epoch::getAheadMillis))));
        }
        return rows;
    }

    private static String longest(LongStream millis) {
        long longest = millis.max().orElseThrow();
        return longest == 0 ? "-" : Ages.ofMillis(longest);
    }

    private static Instant began(Epoch epoch) {
        return Instant.ofEpochMilli(epoch.getBeganAtEpochMillis());
    }

    /** Such as {@code all}, {@code 0-15, 17}, {@code 40 of 256}. */
    private static String domains(List<Epoch> alike, int domains) {
        if (alike.size() == domains) {
            return "all";
        }
        List<String> ranges = new ArrayList<>();
        for (int i = 0, from = 0; i < alike.size(); i++) {
            boolean last = i + 1 == alike.size()
                    || alike.get(i + 1).getDomain() != alike.get(i).getDomain() + 1;
            if (last) {
                int begin = alike.get(from).getDomain();
                int end = alike.get(i).getDomain();
                ranges.add(begin == end ? String.valueOf(begin) : begin + "-" + end);
                from = i + 1;
            }
        }
        return ranges.size() > RANGES_MAX ? alike.size() + " of " + domains : String.join(", ", ranges);
    }
}
