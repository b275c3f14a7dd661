package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Timeline of the events that explain one violation: the events of the tokens, grants and writes that it names, and the
 * faults meanwhile. It never checks properties itself.
 */
final class Explanation {
    private static final int LINES_MAX = 60;
    private static final int GRANT_DIGITS = 8;
    private static final String PAGE = "docs/reference/fault-runs.md";
    private static final Map<String, String> RULES = Map.ofEntries(
            Map.entry("P1", "token and grant id are unique"),
            Map.entry("P2", "a grant asked for after another was answered has the larger token"),
            Map.entry("P5", "nobody believes in an EXCLUSIVE lease beside another lease of the lock"),
            Map.entry("P6", "per resource the tokens of applied writes never fall"),
            Map.entry("P7", "after a read under a token no older grant's write is applied"),
            Map.entry("P8", "LEASE_EXPIRED and TOKEN_STALE are final"),
            Map.entry("P9", "one request, one grant"),
            Map.entry("P10", "first come, first served"),
            Map.entry("P11", "a free lock is granted to a live waiter within the bound"),
            Map.entry("P12", "marks never go back"),
            Map.entry("P13", "no mark moves for a forged sequencer"),
            Map.entry("P14", "nothing stays locked"),
            Map.entry("P15", "acknowledged ≤ final ≤ acknowledged + unknown, and nothing refused is applied"));

    private final List<JsonObject> events;
    private final long startNanos;

    /** @param events in the order of their times */
    Explanation(List<JsonObject> events) {
        this.events = events;
        this.startNanos = events.isEmpty() ? 0 : number(events.get(0), "at");
    }

    String of(String violation) {
        String rule = violation.substring(0, Math.max(0, violation.indexOf(':')));
        Set<String> named = new HashSet<>(Arrays.asList(violation.split("[\\s,;()']+")));
        List<JsonObject> about =
                events.stream().filter(event -> isNamed(event, named)).toList();
        StringBuilder explanation = new StringBuilder();
        explanation.append(violation).append('\n');
        explanation
                .append("  rule ")
                .append(rule)
                .append(": ")
                .append(RULES.getOrDefault(rule, ""))
                .append("; ")
                .append(PAGE)
                .append('\n');
        Set<String> who = new HashSet<>(Set.of("server", "server 2", "redis", "objects"));
        about.forEach(event -> who.add(text(event, "client")));
        long from = about.stream()
                .filter(event -> !isAfterwards(event))
                .mapToLong(event -> number(event, "at"))
                .min()
                .orElse(0);
        long until = about.stream()
                .filter(event -> !isAfterwards(event))
                .mapToLong(event -> number(event, "at"))
                .max()
                .orElse(0);
        List<JsonObject> lines = events.stream()
                .filter(event -> isNamed(event, named)
                        || (isDone(event, who) && number(event, "at") >= from && number(event, "at") <= until))
                .toList();
        lines.stream()
                .limit(LINES_MAX)
                .forEach(event -> explanation.append(line(event)).append('\n'));
        if (lines.size() > LINES_MAX) {
            explanation.append("  ... and ").append(lines.size() - LINES_MAX).append(" more\n");
        }
        return explanation.toString();
    }

    /** Whether the event was recorded at the end of the run, without its own time. */
    private static boolean isAfterwards(JsonObject event) {
        return is(event, "applied") || is(event, "mark") || is(event, "counter");
    }

    private static boolean isDone(JsonObject event, Set<String> who) {
        return (is(event, "fault-began") || is(event, "fault-ended") || is(event, "killed") || is(event, "data-lost"))
                && who.contains(text(event, "who"));
    }

    private static boolean isNamed(JsonObject event, Set<String> named) {
        for (String field : List.of("token", "op", "request")) {
            if (event.has(field) && !text(event, field).isEmpty() && named.contains(text(event, field))) {
                return true;
            }
        }
        if (!event.has("grant")) {
            return false;
        }
        String grant = text(event, "grant");
        return named.contains(grant)
                || (grant.length() > GRANT_DIGITS && named.contains(grant.substring(0, GRANT_DIGITS)));
    }

    private String line(JsonObject event) {
        String when = isAfterwards(event)
                ? "      at the end"
                : String.format(Locale.ROOT, "%13.3f ms", (number(event, "at") - startNanos) / 1e6);
        StringBuilder line = new StringBuilder("  " + when + "  ");
        line.append(String.format(
                Locale.ROOT, "%-8s %-14s", printable(text(event, "client")), printable(text(event, "event"))));
        event.asMap().forEach((field, value) -> {
            if (!Set.of("event", "client", "at", "sha256").contains(field)) {
                String content = value.isJsonPrimitive() ? value.getAsString() : value.toString();
                line.append(' ').append(field).append('=').append(shown(field, content));
            }
        });
        return line.toString();
    }

    private String shown(String field, String content) {
        if (Set.of("asked", "sent", "from", "until", "answered").contains(field)) {
            return String.format(Locale.ROOT, "%.3fms", (Long.parseLong(content) - startNanos) / 1e6);
        }
        return printable(
                field.equals("grant") && content.length() > GRANT_DIGITS
                        ? content.substring(0, GRANT_DIGITS)
                        : content);
    }

    /** Replaces control characters, which could steer the terminal. */
    private static String printable(String content) {
        return content.codePoints()
                .map(c -> Character.isISOControl(c) || Character.getType(c) == Character.FORMAT ? '?' : c)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }
}
