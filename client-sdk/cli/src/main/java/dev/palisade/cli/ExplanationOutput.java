package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainedEvent;
import dev.palisade.proto.v1.ReportedRefusal;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;

/** Output of an explanation, as text and as JSON. Times are in UTC, as in the logs of servers and guards. */
final class ExplanationOutput {
    private static final DateTimeFormatter MILLIS =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSX", Locale.ROOT);

    private static final int COLUMNS = 100;

    private ExplanationOutput() {}

    /** @param bySequencer whether the server was asked by a sequencer, which it then has verified */
    static String shown(ExplainReply reply, boolean bySequencer) {
        StringBuilder text = new StringBuilder();
        if (bySequencer) {
            add(text, "", "The sequencer is genuine: this lock service signed it, for token " + reply.getToken() + ".");
        }
        add(text, "", reply.getSummary());
        for (ExplainedEvent event : reply.getEventsList()) {
            long ago = Math.max(0, reply.getAtEpochMillis() - event.getAtEpochMillis());
            text.append('\n')
                    .append(at(event.getAtEpochMillis()))
                    .append(", ")
                    .append(TimeFormat.durationMillis(ago))
                    .append(" ago: ")
                    .append(TerminalText.text(event.getWhat()))
                    .append('\n');
            add(text, "    ", event.getText());
        }
        add(text, "Not known:", reply.getUnknownList());
        add(text, "What to do:", reply.getAdviceList());
        return text.toString();
    }

    private static void add(StringBuilder text, String head, List<String> sentences) {
        if (!sentences.isEmpty()) {
            text.append('\n').append(head).append('\n');
            sentences.forEach(sentence -> add(text, "    ", sentence));
        }
    }

    /** A sentence in lines of at most {@link #COLUMNS}, but for words that are longer. */
    private static void add(StringBuilder text, String indent, String sentence) {
        StringBuilder line = new StringBuilder();
        for (String word : TerminalText.text(sentence).split(" ", -1)) {
            if (line.length() > 0 && indent.length() + line.length() + 1 + word.length() > COLUMNS) {
                text.append(indent).append(line).append('\n');
                line.setLength(0);
            }
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        text.append(indent).append(line).append('\n');
    }

    static JsonObject json(ExplainReply reply) {
        JsonObject json = new JsonObject();
        json.addProperty("lock", reply.getLock());
        json.addProperty("token", reply.getToken());
        json.addProperty("at", at(reply.getAtEpochMillis()));
        json.addProperty("state", reply.getState());
        json.addProperty("summary", reply.getSummary());
        JsonArray events = new JsonArray();
        reply.getEventsList().forEach(event -> events.add(json(event)));
        json.add("events", events);
        json.add("unknown", array(reply.getUnknownList()));
        json.add("advice", array(reply.getAdviceList()));
        return json;
    }

    private static JsonObject json(ExplainedEvent event) {
        JsonObject json = new JsonObject();
        json.addProperty("at", at(event.getAtEpochMillis()));
        json.addProperty("what", event.getWhat());
        if (event.getToken() != 0) {
            json.addProperty("token", event.getToken());
        }
        json.addProperty("text", event.getText());
        if (event.hasRefusal()) {
            ReportedRefusal refusal = event.getRefusal();
            json.addProperty("guard", refusal.getGuard());
            json.addProperty("guard_principal", refusal.getPrincipal());
            json.addProperty("resource", refusal.getResource());
            json.addProperty("reason", refusal.getReason());
            json.addProperty("presented_token", refusal.getPresentedToken());
            if (refusal.getMarkToken() != 0) {
                json.addProperty("mark_token", refusal.getMarkToken());
            }
            json.addProperty("count", refusal.getCount());
        }
        return json;
    }

    private static JsonArray array(List<String> sentences) {
        JsonArray array = new JsonArray();
        sentences.forEach(array::add);
        return array;
    }

    private static String at(long epochMillis) {
        return MILLIS.format(Instant.ofEpochMilli(epochMillis).atOffset(ZoneOffset.UTC));
    }
}
