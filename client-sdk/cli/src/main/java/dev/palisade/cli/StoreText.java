package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.Ages;
import dev.palisade.cli.term.Plain;
import dev.palisade.client.StoreDescription;
import dev.palisade.client.StoreDescription.Epoch;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A store, and the epoch of a lock, as they are shown: for people, and in JSON. */
final class StoreText {
    /** Of more ranges than this only their number is told. */
    private static final int RANGES_MAX = 4;

    private StoreText() {}

    static String shown(StoreDescription store, Clock clock) {
        StringBuilder text = new StringBuilder(store.kind() + " at " + store.where());
        if (!store.detail().isEmpty()) {
            text.append(" (").append(store.detail()).append(')');
        }
        text.append(store.up() ? ": up since " : ": DOWN since ")
                .append(Ages.ago(store.since(), clock.instant(), clock.getZone()));
        if (!store.why().isEmpty()) {
            text.append(store.up() ? "; before that: " : ": ").append(store.why());
        }
        String line = Plain.text(text.toString()) + "\n";
        return store.epochs().isEmpty() ? line : line + "\n" + Plain.table(rows(store, clock));
    }

    /** One line, such as {@code epoch: tokens above 12, since 3.0 s ago (...): this server started}. */
    static String shown(Epoch epoch, Clock clock) {
        String recovering = epoch.recovering().isZero()
                ? ""
                : "; recovering, nothing new is granted for " + Ages.of(epoch.recovering());
        return Plain.text("epoch: tokens above " + epoch.baseToken() + ", since "
                        + Ages.ago(epoch.beganAt(), clock.instant(), clock.getZone()) + ": " + epoch.why() + recovering)
                + "\n";
    }

    static JsonObject json(StoreDescription store) {
        JsonObject json = new JsonObject();
        json.addProperty("kind", store.kind());
        json.addProperty("where", store.where());
        json.addProperty("detail", store.detail());
        json.addProperty("up", store.up());
        json.addProperty("since", store.since().toString());
        json.addProperty("why", store.why());
        json.addProperty("domains", store.domains());
        JsonArray epochs = new JsonArray();
        store.epochs().forEach(epoch -> epochs.add(json(epoch)));
        json.add("epochs", epochs);
        return json;
    }

    static JsonObject json(Epoch epoch) {
        JsonObject json = new JsonObject();
        json.addProperty("domain", epoch.domain());
        json.addProperty("base_token", epoch.baseToken());
        json.addProperty("began_at", epoch.beganAt().toString());
        json.addProperty("why", epoch.why());
        json.addProperty("recovering_millis", epoch.recovering().toMillis());
        json.addProperty("ahead_millis", epoch.ahead().toMillis());
        return json;
    }

    /** What epochs of one row have in common: they began for the same reason, in the same second. */
    private record Alike(String why, Instant second, boolean recovering) {
        static Alike of(Epoch epoch) {
            return new Alike(
                    epoch.why(),
                    epoch.beganAt().truncatedTo(ChronoUnit.SECONDS),
                    !epoch.recovering().isZero());
        }
    }

    /** Epochs that began together are one row: there may be hundreds. */
    private static List<List<String>> rows(StoreDescription store, Clock clock) {
        Map<Alike, List<Epoch>> groups = new LinkedHashMap<>();
        store.epochs()
                .forEach(epoch -> groups.computeIfAbsent(Alike.of(epoch), any -> new ArrayList<>())
                        .add(epoch));
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("DOMAINS", "TOKENS ABOVE", "BEGAN", "BECAUSE", "RECOVERING", "AHEAD OF THE CLOCK"));
        for (List<Epoch> alike : groups.values()) {
            Epoch first = alike.get(0);
            rows.add(List.of(
                    domains(alike, store.domains()),
                    String.valueOf(
                            alike.stream().mapToLong(Epoch::baseToken).min().orElseThrow()),
                    Ages.ago(first.beganAt(), clock.instant(), clock.getZone()),
                    first.why(),
                    length(longest(alike.stream().map(Epoch::recovering).toList())),
                    length(longest(alike.stream().map(Epoch::ahead).toList()))));
        }
        return rows;
    }

    private static Duration longest(List<Duration> lengths) {
        return lengths.stream().max(Duration::compareTo).orElseThrow();
    }

    private static String length(Duration length) {
        return length.isZero() ? "-" : Ages.of(length);
    }

    /** Such as {@code all}, {@code 0-15, 17}, {@code 40 of 256}. */
    private static String domains(List<Epoch> alike, int domains) {
        if (alike.size() == domains) {
            return "all";
        }
        List<String> ranges = new ArrayList<>();
        for (int i = 0, from = 0; i < alike.size(); i++) {
            boolean last = i + 1 == alike.size()
                    || alike.get(i + 1).domain() != alike.get(i).domain() + 1;
            if (last) {
                int begin = alike.get(from).domain();
                int end = alike.get(i).domain();
                ranges.add(begin == end ? String.valueOf(begin) : begin + "-" + end);
                from = i + 1;
            }
        }
        return ranges.size() > RANGES_MAX ? alike.size() + " of " + domains : String.join(", ", ranges);
    }
}
