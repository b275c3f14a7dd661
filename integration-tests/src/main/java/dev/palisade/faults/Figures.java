package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.check.AppliedCall;
import dev.palisade.check.TokensRise;
import dev.palisade.contract.GrantId;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** How much happened in a run, and what was too little for its verdict to mean anything. */
final class Figures {
    private final Map<String, Long> counts = new LinkedHashMap<>();
    private final List<String> missing = new ArrayList<>();

    private Figures() {}

    static Figures of(Evidence evidence) {
        Figures figures = new Figures();
        List<JsonObject> events = evidence.events();
        for (Schedule.Kind kind : Schedule.Kind.of(where(events))) {
            figures.need(
                    kind.name(),
                    1,
                    count(
                            events,
                            event -> (is(event, "fault-began") || is(event, "operated"))
                                    && text(event, "fault").equals(kind.name())));
        }
        figures.need("grants", 100, evidence.run().grants().size());
        figures.need("grants passed on by their clients", 2, passedOn(evidence));
        figures.need("unary grants", 3, count(events, event -> is(event, "granted") && event.has("request")));
        boolean foreign = events.stream()
                .anyMatch(event -> is(event, "started") && text(event, "who").startsWith(Cast.FOREIGN));
        figures.need(
                "grants of the client in Python",
                foreign ? 1 : 0,
                count(
                        events,
                        event -> is(event, "granted") && text(event, "client").startsWith(Cast.FOREIGN)));
        figures.need(
                "SHARED reads applied",
                10,
                evidence.run().applied().stream().filter(AppliedCall::shared).count());
        figures.need(
                "writes applied",
                50,
                evidence.run().applied().stream().filter(AppliedCall::write).count());
        figures.need(
                "refusals as stale",
                1,
                count(
                        events,
                        event -> event.has("reason") && text(event, "reason").equals("TOKEN_STALE")));
        figures.need("outcomes unknown", 0, count(events, event -> is(event, "unknown")));
        figures.need("cancelled acquires", 3, count(events, event -> is(event, "cancelled")));
        figures.need("renewals seen", 10, count(events, event -> is(event, "valid")));
        figures.need("leases lost", 3, count(events, event -> is(event, "lost")));
        figures.need("requests answered again", 2, count(events, event -> is(event, "granted-again")));
        figures.need("snapshots of the marks", 2, evidence.run().marks().size());
        figures.need("forged calls", 5, count(events, event -> is(event, "forged")));
        figures.need(
                "forged calls refused for it",
                5,
                count(
                        events,
                        event -> is(event, "forged")
                                && (text(event, "outcome").equals("SEQUENCER_INVALID")
                                        || text(event, "outcome").equals("WRONG_RESOURCE"))));
        figures.need("offers in the lock server's history", 20, entries(evidence, "OFFERED"));
        figures.need(
                "waits after the last fault",
                5,
                evidence.waits().stream()
                        .filter(wait -> wait.untilNanos() > evidence.quietNanos())
                        .count());
        if (where(events) != Where.DATA_DIR) {
            figures.need("grants reclaimed", 0, entries(evidence, "RECLAIMED"));
            figures.need("offers withdrawn", 0, entries(evidence, "WITHDRAWN"));
            figures.need(
                    "tokens that fell over a loss",
                    0,
                    TokensRise.violations(evidence.run().grants(), List.of()).size());
        }
        figures.need("looks at what is left", 1, evidence.listed().size());
        return figures;
    }

    private static long passedOn(Evidence evidence) {
        return evidence.run().grants().stream()
                .filter(grant ->
                        GrantId.of(HexFormat.of().parseHex(grant.grant())).turn() > 0)
                .count();
    }

    private static long entries(Evidence evidence, String what) {
        return evidence.entries().stream()
                .filter(entry -> entry.what().equals(what))
                .count();
    }

    private static Where where(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "run") && event.has("locks_in"))
                .map(event -> Where.valueOf(text(event, "locks_in")))
                .findFirst()
                .orElse(Where.DATA_DIR);
    }

    private static long count(List<JsonObject> events, Predicate<JsonObject> wanted) {
        return events.stream().filter(wanted).count();
    }

    private void need(String what, long least, long count) {
        counts.put(what, count);
        if (count < least) {
            missing.add("VACUOUS: " + what + ": " + count + ", and fewer than " + least + " prove nothing");
        }
    }

    /** What was too little; empty: nothing. */
    List<String> missing() {
        return List.copyOf(missing);
    }

    Map<String, Long> counts() {
        return Map.copyOf(counts);
    }

    /** One line for each figure. */
    @Override
    public String toString() {
        StringBuilder lines = new StringBuilder();
        counts.forEach((what, count) -> lines.append(String.format("  %-38s %8d%n", what, count)));
        return lines.toString();
    }
}
