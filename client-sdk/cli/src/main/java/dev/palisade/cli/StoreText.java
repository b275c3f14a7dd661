package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.Standby;
import dev.palisade.proto.v1.StoreReply;
import java.time.Clock;
import java.time.Instant;

/** Output of a store and of the epoch of its tokens, as text and as JSON. */
final class StoreText {
    private StoreText() {}

    static String shown(StoreReply store, Clock clock) {
        StringBuilder text = new StringBuilder(store.getKind());
        if (!store.getWhere().isEmpty()) { // A Redis of which no primary was met has no address yet.
            text.append(" at ").append(store.getWhere());
        }
        text.append(store.getUp() ? ": up" : store.getStandby() ? ": standby" : ": DOWN");
        if (store.getSinceEpochMillis() != 0) { // A standby that never met its log does not know the time.
            text.append(" since ").append(ago(store.getSinceEpochMillis(), clock));
        }
        if (!store.getWhy().isEmpty()) {
            text.append(store.getUp() ? "; before that: " : ": ").append(store.getWhy());
        }
        String lines = TerminalText.text(text.toString()) + "\n" + (store.hasLog() ? shown(store.getLog(), clock) : "");
        return store.hasEpoch() ? lines + shown(store.getEpoch(), clock) : lines;
    }

    private static String ago(long epochMillis, Clock clock) {
        return TimeFormat.ago(Instant.ofEpochMilli(epochMillis), clock.instant(), clock.getZone());
    }

    /** A line for the active server, its takeover, and each standby. */
    private static String shown(SharedLog log, Clock clock) {
        String claim = log.getClaimRemainingMillis() == 0
                ? "none; the claim of " + log.getActive() + " is over"
                : log.getActive() + ", claim of " + TimeFormat.durationMillis(log.getClaimMillis()) + " with "
                        + TimeFormat.durationMillis(log.getClaimRemainingMillis()) + " left";
        StringBuilder text = new StringBuilder()
                .append(TerminalText.text("active: " + claim + "; term " + log.getTerm() + ", writer " + log.getWriter()
                        + ", batch " + log.getBatch()))
                .append('\n');
        if (log.getTakenOverAtEpochMillis() != 0) {
            text.append(TerminalText.text("last takeover: " + ago(log.getTakenOverAtEpochMillis(), clock)
                            + (log.getTakenOverFrom().isEmpty() ? "" : " from " + log.getTakenOverFrom()) + ": "
                            + cause(log.getTakenOverWhy())))
                    .append('\n');
        }
        for (Standby standby : log.getStandbysList()) {
            text.append(TerminalText.text("standby: " + standby.getAddress() + ", since "
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
            case "CLAIM_RAN_OUT" ->
                "the former active server did not renew its claim: it ended, was paused, or did not reach the log";
            case "RESTARTED" -> "the active server was started again";
            case "DATA_LOST" -> "the log lost data";
            default -> why;
        };
    }

    /** One line, such as {@code epoch: tokens above 12, since 3.0 s ago (...): this server started}. */
    static String shown(Epoch epoch, Clock clock) {
        String recovering = epoch.getRecoveringMillis() == 0
                ? ""
                : "; recovering from data loss: no new locks for "
                        + TimeFormat.durationMillis(epoch.getRecoveringMillis());
        String ahead = epoch.getAheadMillis() == 0
                ? ""
                : "; tokens are " + TimeFormat.durationMillis(epoch.getAheadMillis()) + " ahead of the clock";
        return TerminalText.text("epoch: tokens above " + epoch.getBaseToken() + ", since "
                        + ago(epoch.getBeganAtEpochMillis(), clock) + ": " + epoch.getWhy() + recovering + ahead)
                + "\n";
    }

    static JsonObject json(StoreReply store) {
        JsonObject json = new JsonObject();
        json.addProperty("kind", store.getKind());
        json.addProperty("where", store.getWhere());
        json.addProperty("up", store.getUp());
        json.addProperty(
                "since", Instant.ofEpochMilli(store.getSinceEpochMillis()).toString());
        json.addProperty("why", store.getWhy());
        if (store.hasEpoch()) {
            json.add("epoch", json(store.getEpoch()));
        }
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
        json.addProperty("base_token", epoch.getBaseToken());
        json.addProperty("began_at", at(epoch.getBeganAtEpochMillis()));
        json.addProperty("why", epoch.getWhy());
        LockText.add(json, "recovering_millis", epoch.getRecoveringMillis());
        LockText.add(json, "ahead_millis", epoch.getAheadMillis());
        return json;
    }
}
