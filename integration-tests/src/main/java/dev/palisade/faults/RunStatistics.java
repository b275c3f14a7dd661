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

/** Statistics of a run: event counts, and the counts that are too small for the verdict to prove anything. */
final class RunStatistics {
    private final Map<String, Long> counts = new LinkedHashMap<>();
    private final List<String> missing = new ArrayList<>();

    private RunStatistics() {}

    static RunStatistics of(Evidence evidence) {
        RunStatistics statistics = new RunStatistics();
        List<JsonObject> events = evidence.events();
        for (Schedule.Kind kind : Schedule.Kind.of(backend(events))) {
            statistics.require(
                    kind.name(),
                    1,
                    count(
                            events,
                            event -> (is(event, "fault-began") || is(event, "operated"))
                                    && text(event, "fault").equals(kind.name())));
        }
        statistics.require("grants", 100, evidence.run().grants().size());
        statistics.require("grants passed on by their clients", 2, handedOff(evidence));
        statistics.require("unary grants", 3, count(events, event -> is(event, "granted") && event.has("request")));
        boolean foreign = events.stream()
                .anyMatch(event -> is(event, "started") && text(event, "who").startsWith(Cluster.FOREIGN));
        statistics.require(
                "grants of the client in Python",
                foreign ? 1 : 0,
                count(
                        events,
                        event -> is(event, "granted") && text(event, "client").startsWith(Cluster.FOREIGN)));
        statistics.require(
                "SHARED reads applied",
                10,
                evidence.run().applied().stream().filter(AppliedCall::shared).count());
        statistics.require(
                "writes applied",
                50,
                evidence.run().applied().stream().filter(AppliedCall::write).count());
        statistics.require(
                "refusals as stale",
                1,
                count(
                        events,
                        event -> event.has("reason") && text(event, "reason").equals("TOKEN_STALE")));
        statistics.require("outcomes unknown", 0, count(events, event -> is(event, "unknown")));
        statistics.require("cancelled acquires", 3, count(events, event -> is(event, "cancelled")));
        statistics.require("renewals seen", 10, count(events, event -> is(event, "valid")));
        statistics.require("leases lost", 3, count(events, event -> is(event, "lost")));
        statistics.require("requests answered again", 2, count(events, event -> is(event, "granted-again")));
        statistics.require("snapshots of the marks", 2, evidence.run().marks().size());
        statistics.require("forged calls", 5, count(events, event -> is(event, "forged")));
        statistics.require(
                "forged calls refused for it",
                5,
                count(
                        events,
                        event -> is(event, "forged")
                                && (text(event, "outcome").equals("SEQUENCER_INVALID")
                                        || text(event, "outcome").equals("WRONG_RESOURCE"))));
        statistics.require("offers in the lock server's history", 20, entries(evidence, "OFFERED"));
        statistics.require(
                "waits after the last fault",
                5,
                evidence.waits().stream()
                        .filter(wait -> wait.untilNanos() > evidence.quietNanos())
                        .count());
        if (backend(events) != LockBackend.DATA_DIR) {
            statistics.require("grants reclaimed", 0, entries(evidence, "RECLAIMED"));
            statistics.require("offers withdrawn", 0, entries(evidence, "WITHDRAWN"));
            statistics.require(
                    "tokens that fell over a loss",
                    0,
                    TokensRise.violations(evidence.run().grants(), List.of()).size());
        }
        statistics.require("looks at what is left", 1, evidence.listed().size());
        return statistics;
    }

    private static long handedOff(Evidence evidence) {
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

    private static LockBackend backend(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "run") && event.has("locks_in"))
                .map(event -> LockBackend.valueOf(text(event, "locks_in")))
                .findFirst()
                .orElse(LockBackend.DATA_DIR);
    }

    private static long count(List<JsonObject> events, Predicate<JsonObject> wanted) {
        return events.stream().filter(wanted).count();
    }

    private void require(String what, long least, long count) {
        counts.put(what, count);
        if (count < least) {
            missing.add("VACUOUS: " + what + ": " + count + ", and fewer than " + least + " prove nothing");
        }
    }

    /** The counts that are too small. */
    List<String> missing() {
        return List.copyOf(missing);
    }

    Map<String, Long> counts() {
        return Map.copyOf(counts);
    }

    /** One line for each count. */
    @Override
    public String toString() {
        StringBuilder lines = new StringBuilder();
        counts.forEach((what, count) -> lines.append(String.format("  %-38s %8d%n", what, count)));
        return lines.toString();
    }
}
