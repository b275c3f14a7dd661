package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.check.AppliedCall;
import dev.palisade.check.Counter;
import dev.palisade.check.DataLost;
import dev.palisade.check.EndsFinal;
import dev.palisade.check.FirstComeFirst;
import dev.palisade.check.FreeLocksGranted;
import dev.palisade.check.GrantReply;
import dev.palisade.check.GrantReport;
import dev.palisade.check.Held;
import dev.palisade.check.LeasesDisjoint;
import dev.palisade.check.LockEntry;
import dev.palisade.check.Marks;
import dev.palisade.check.NothingLeft;
import dev.palisade.check.NothingLeft.Listed;
import dev.palisade.check.OffersNotUsed;
import dev.palisade.check.OneGrantPerRequest;
import dev.palisade.check.Run;
import dev.palisade.check.Wait;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Input of the checkers, read from the events of a run. Only the events determine the verdict, so a stored history can
 * be checked again on any machine.
 *
 * @param events in the order of their times
 * @param quietNanos end of the last fault
 * @param boundNanos bound of P11
 */
record Evidence(
        List<JsonObject> events,
        Run run,
        List<Held> leases,
        List<GrantReport> reports,
        List<GrantReply> replies,
        List<LockEntry> entries,
        List<Wait> waits,
        List<Listed> listed,
        List<DataLost> losses,
        long quietNanos,
        long boundNanos) {
    private static final Set<String> NEEDS_THE_END = Set.of("P12:", "P14:", "P15:");
    private static final Set<String> OVER = Set.of("EXPIRED", "ABANDONED", "FORCE_RELEASED", "SERVER_UNREACHABLE");

    /** @param events in the order of their times */
    static Evidence of(List<JsonObject> events) {
        Histories histories = Histories.of(events);
        Run run = new Run(histories.grants(), histories.increments(), applied(events), marks(events), counters(events));
        JsonObject quiet =
                events.stream().filter(event -> is(event, "quiet")).findFirst().orElseGet(JsonObject::new);
        return new Evidence(
                List.copyOf(events),
                run,
                Leases.of(events),
                reports(events),
                replies(events),
                entries(events),
                waits(events),
                listed(events),
                losses(events),
                quiet.has("at") ? number(quiet, "at") : Long.MAX_VALUE,
                quiet.has("bound_millis") ? number(quiet, "bound_millis") * 1_000_000 : 0);
    }

    /** Whether the run was completed. Otherwise the applied calls and the locks still in use are unknown. */
    boolean isComplete() {
        return !listed.isEmpty() && !run.marks().isEmpty();
    }

    /** The violations, each prefixed with its property. For an aborted run, only the properties that can be checked. */
    List<String> violations() {
        return all().filter(violation -> isComplete() || NEEDS_THE_END.stream().noneMatch(violation::startsWith))
                .toList();
    }

    private Stream<String> all() {
        return Stream.of(
                        run.violations(losses),
                        LeasesDisjoint.violations(leases),
                        // A store that lost data may have an offer instead of a lease.
                        losses.isEmpty() ? OffersNotUsed.violations(entries, usedWithDelay()) : List.<String>of(),
                        EndsFinal.violations(reports, losses),
                        OneGrantPerRequest.violations(replies, entries, losses),
                        FirstComeFirst.violations(entries),
                        FreeLocksGranted.violations(waits, leases, quietNanos, boundNanos),
                        NothingLeft.violations(listed, boundNanos),
                        forgeries())
                .flatMap(List::stream);
    }

    private Set<OffersNotUsed.Used> usedWithDelay() {
        Set<String> withDelay = new HashSet<>();
        Set<OffersNotUsed.Used> used = new HashSet<>();
        for (JsonObject event : events) {
            if (is(event, "asked") && event.has("lock_delay_millis") && number(event, "lock_delay_millis") > 0) {
                withDelay.add(text(event, "client") + " " + text(event, "op"));
            } else if (is(event, "granted") && withDelay.contains(text(event, "client") + " " + text(event, "op"))) {
                used.add(new OffersNotUsed.Used(text(event, "grant"), number(event, "token")));
            }
        }
        return used;
    }

    /** P13, second part: forged calls are refused. */
    private List<String> forgeries() {
        return events.stream()
                .filter(event -> is(event, "forged") && text(event, "outcome").equals("admitted"))
                .map(event -> "P13: a " + text(event, "how") + " sequencer was admitted for " + text(event, "lock")
                        + ", token " + text(event, "token"))
                .toList();
    }

    private static List<AppliedCall> applied(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "applied"))
                .map(event -> new AppliedCall(
                        number(event, "seq"),
                        text(event, "lock"),
                        text(event, "key"),
                        event.get("write").getAsBoolean(),
                        event.get("shared").getAsBoolean(),
                        number(event, "token"),
                        text(event, "grant"),
                        text(event, "sha256")))
                .toList();
    }

    private static List<Counter> counters(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "counter"))
                .map(event -> new Counter(text(event, "key"), number(event, "value"), text(event, "sha256")))
                .toList();
    }

    private static List<Marks> marks(List<JsonObject> events) {
        Map<String, Map<String, Marks.Mark>> snapshots = new LinkedHashMap<>();
        for (JsonObject event : events) {
            if (is(event, "mark")) {
                snapshots
                        .computeIfAbsent(text(event, "when"), when -> new HashMap<>())
                        .put(
                                text(event, "lock"),
                                new Marks.Mark(
                                        number(event, "token"), text(event, "grant"), number(event, "shared_token")));
            }
        }
        return snapshots.entrySet().stream()
                .map(snapshot -> new Marks(snapshot.getKey(), snapshot.getValue()))
                .toList();
    }

    private static List<GrantReport> reports(List<JsonObject> events) {
        Map<String, JsonObject> sent = new HashMap<>();
        List<GrantReport> reports = new ArrayList<>();
        for (JsonObject event : events) {
            switch (text(event, "event")) {
                case "sending" -> sent.put(text(event, "op"), event);
                case "acknowledged" ->
                    reports.add(report(
                            event,
                            GrantReport.Source.GUARD,
                            number(sent.getOrDefault(text(event, "op"), event), "at"),
                            false,
                            "write"));
                case "read" ->
                    reports.add(report(event, GrantReport.Source.GUARD, number(event, "sent"), false, "read"));
                case "refused", "read-failed" -> {
                    if (text(event, "reason").equals("TOKEN_STALE")) {
                        reports.add(report(
                                event, GrantReport.Source.GUARD, 0, true, is(event, "refused") ? "write" : "read"));
                    }
                }
                case "valid", "granted-again" -> {
                    long asked = number(event, event.has("asked") ? "asked" : "at");
                    reports.add(report(event, sourceOf(event), asked, false, "renewal"));
                }
                case "lost" -> {
                    if (OVER.contains(text(event, "reason"))) {
                        long asked = event.has("sent") ? number(event, "sent") : 0;
                        reports.add(report(event, sourceOf(event), asked, true, "lease"));
                    }
                }
                default -> {
                    // Other events report no grant.
                }
            }
        }
        return reports;
    }

    /** The source of a report: clients without a session call the server directly. */
    private static GrantReport.Source sourceOf(JsonObject event) {
        return event.has("request") ? GrantReport.Source.SERVER : GrantReport.Source.SDK;
    }

    private static GrantReport report(
            JsonObject event, GrantReport.Source source, long sentNanos, boolean ended, String what) {
        return new GrantReport(
                text(event, "client"),
                text(event, "lock"),
                number(event, "token"),
                text(event, "grant"),
                source,
                sentNanos,
                number(event, "at"),
                ended,
                what);
    }

    private static List<GrantReply> replies(List<JsonObject> events) {
        return events.stream()
                .filter(event -> event.has("request") && (is(event, "granted") || is(event, "granted-again")))
                .map(event -> new GrantReply(
                        text(event, "client"),
                        text(event, "lock"),
                        text(event, "request"),
                        number(event, "token"),
                        text(event, "grant"),
                        number(event, "asked"),
                        number(event, "at")))
                .toList();
    }

    private static List<LockEntry> entries(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "lock-history"))
                .map(event -> new LockEntry(
                        text(event, "lock"),
                        event.get("stretch").getAsInt(),
                        text(event, "what"),
                        event.has("token") ? number(event, "token") : 0,
                        text(event, "grant"),
                        text(event, "owner"),
                        text(event, "detail"),
                        number(event, "at")))
                .toList();
    }

    private static List<DataLost> losses(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "data-lost"))
                .map(event -> new DataLost(number(event, "from"), number(event, "at")))
                .toList();
    }

    private static List<Wait> waits(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "granted") || is(event, "not-granted") || is(event, "cancelled"))
                .map(event -> new Wait(
                        text(event, "client"),
                        text(event, "lock"),
                        text(event, "op"),
                        number(event, "asked"),
                        number(event, "at")))
                .toList();
    }

    private static List<Listed> listed(List<JsonObject> events) {
        return events.stream()
                .filter(event -> is(event, "listed"))
                .map(event -> new Listed(
                        number(event, "after"),
                        event.getAsJsonArray("locks").asList().stream()
                                .map(lock -> lock.getAsString())
                                .toList()))
                .toList();
    }
}
