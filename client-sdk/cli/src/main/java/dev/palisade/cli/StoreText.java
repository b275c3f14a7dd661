package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.Ages;
import dev.palisade.cli.term.Plain;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.Standby;
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
        text.append(store.getUp() ? ": up" : store.getStandby() ? ": standby" : ": DOWN");
        if (store.getSinceEpochMillis() != 0) { // A standby that never met its log does not know the time.
            text.append(" since ").append(ago(store.getSinceEpochMillis(), clock));
        }
        if (!store.getWhy().isEmpty()) {
            text.append(store.getUp() ? "; before that: " : ": ").append(store.getWhy());
        }
        String lines = Plain.text(text.toString()) + "\n" + (store.hasLog() ? shown(store.getLog(), clock) : "");
        return store.getEpochsList().isEmpty() ? lines : lines + "\n" + Plain.table(rows(store, clock));
    }

    private static String ago(long epochMillis, Clock clock) {
        return Ages.ago(Instant.ofEpochMilli(epochMillis), clock.instant(), clock.getZone());
    }

    /** A line for the active server, its takeover, and each standby. */
    private static String shown(SharedLog log, Clock clock) {
        String claim = log.getClaimRemainingMillis() == 0
                ? "none; the claim of " + log.getActive() + " is over"
                : log.getActive() + ", claim of " + Ages.ofMillis(log.getClaimMillis()) + " with "
                        + Ages.ofMillis(log.getClaimRemainingMillis()) + " left";
        StringBuilder text = new StringBuilder()
                .append(Plain.text("active: " + claim + "; term " + log.getTerm() + ", writer " + log.getWriter()
                        + ", batch " + log.getBatch()))
                .append('\n');
        if (log.getTakenOverAtEpochMillis() != 0) {
            text.append(Plain.text("last takeover: " + ago(log.getTakenOverAtEpochMillis(), clock)
                            + (log.getTakenOverFrom().isEmpty() ? "" : " from " + log.getTakenOverFrom()) + ": "
                            + cause(log.getTakenOverWhy())))
                    .append('\n');
        }
        for (Standby standby : log.getStandbysList()) {
            text.append(Plain.text("standby: " + standby.getAddress() + ", since "
                            + ago(standby.getSinceEpochMillis(), clock) + ", last seen "
                            + ago(standby.getLastSeenEpochMillis(), clock)))
                    .append('\n');
        }
        return text + (log.getStandbysCount() == 0 ? "standby: none\n" : "");
    }

    /** A word that this release does not know is shown as it is. */
    private static String cause(String why) {
        return switch (why) {
            case "" -> "the cause is not known";
            case "STARTED" -> "the log was new";
            case "STOPPED" -> "the former active server stopped";
            case "CLAIM_RAN_OUT" -> "the former active server was silent until its claim was over";
            case "RESTARTED" -> "the active server was started again";
            case "DATA_LOST" -> "the log lost data";
            default -> why;
        };
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
        json.addProperty("standby", store.getStandby());
        if (store.hasLog()) {
            json.add("log", json(store.getLog()));
        }
        return json;
    }

    private static JsonObject json(SharedLog log) {
        JsonObject json = new JsonObject();
        json.addProperty("active", log.getActive());
        json.addProperty("writer", log.getWriter());
        json.addProperty("batch", log.getBatch());
        json.addProperty("term", log.getTerm());
        LockText.add(json, "claim_millis", log.getClaimMillis());
        LockText.add(json, "claim_remaining_millis", log.getClaimRemainingMillis());
        if (log.getTakenOverAtEpochMillis() != 0) {
            json.addProperty("taken_over_at", at(log.getTakenOverAtEpochMillis()));
        }
        json.addProperty("taken_over_why", log.getTakenOverWhy());
        json.addProperty("taken_over_from", log.getTakenOverFrom());
        JsonArray standbys = new JsonArray();
        for (Standby standby : log.getStandbysList()) {
            JsonObject one = new JsonObject();
            one.addProperty("address", standby.getAddress());
            one.addProperty("since", at(standby.getSinceEpochMillis()));
            one.addProperty("last_seen", at(standby.getLastSeenEpochMillis()));
            standbys.add(one);
        }
        json.add("standbys", standbys);
        return json;
    }

    private static String at(long epochMillis) {
        return Instant.ofEpochMilli(epochMillis).toString();
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
