package dev.palisade.picture;

import com.google.gson.JsonObject;
import dev.palisade.picture.SequenceDiagram.Kind;
import dev.palisade.picture.SequenceDiagram.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Index of the late calls of a run: those that were refused as stale, and those that were applied and are named by a violation. */
final class LateCalls {
    private static final int CALLS_SHOWN = 3;

    private final List<JsonObject> events;
    private final Set<String> named = new HashSet<>();
    private final Map<String, JsonObject> grants = new HashMap<>();
    private final Map<String, Long> deadlines = new HashMap<>();
    private final Map<String, String> contents = new HashMap<>();
    private final Map<String, List<JsonObject>> byLock = new HashMap<>();
    private final Map<String, List<Fault>> faults = new HashMap<>();
    private final List<JsonObject> refused = new ArrayList<>();
    private final List<JsonObject> applied = new ArrayList<>();

    private record Fault(String kind, long from, long until) {
        boolean isPause() {
            return kind.startsWith("PAUSE");
        }
    }

    /**
     * @param events in the order of their times
     * @param violations in words; a late call that was applied is found by its token or operation in one of them
     */
    LateCalls(List<JsonObject> events, List<String> violations) {
        this.events = events;
        violations.forEach(violation -> named.addAll(Arrays.asList(violation.split("[\\s,;()']+"))));
        Map<String, JsonObject> open = new HashMap<>();
        Map<String, Long> newest = new HashMap<>();
        for (JsonObject event : events) {
            index(event, newest);
            String who = text(event, "who");
            if (text(event, "event").equals("fault-began")) {
                open.put(who + text(event, "fault"), event);
            } else if (text(event, "event").equals("fault-ended")) {
                JsonObject began = open.remove(who + text(event, "fault"));
                if (began != null) {
                    faults.computeIfAbsent(who, name -> new ArrayList<>())
                            .add(new Fault(text(event, "fault"), at(began), at(event)));
                }
            }
        }
    }

    private void index(JsonObject event, Map<String, Long> newest) {
        if (event.has("grant") && event.has("until")) {
            deadlines.merge(text(event, "grant"), event.get("until").getAsLong(), Math::max);
        }
        switch (text(event, "event")) {
            case "sending" -> contents.put(text(event, "op"), text(event, "content"));
            case "granted" -> {
                grants.put(text(event, "grant"), event);
                keep(event);
            }
            case "acknowledged" -> {
                keep(event);
                long before = newest.getOrDefault(text(event, "lock"), -1L);
                boolean isNamed = named.contains(text(event, "token")) || named.contains(text(event, "op"));
                if (token(event) < before && isNamed) {
                    applied.add(event);
                }
                newest.put(text(event, "lock"), Math.max(before, token(event)));
            }
            case "read", "releasing", "lost" -> keep(event);
            case "refused", "read-failed" -> {
                if (text(event, "reason").equals("TOKEN_STALE")) {
                    refused.add(event);
                }
            }
            default -> {
                // Not part of a sequence diagram.
            }
        }
    }

    private void keep(JsonObject event) {
        byLock.computeIfAbsent(text(event, "lock"), lock -> new ArrayList<>()).add(event);
    }

    /** How many were refused as stale. */
    int refusals() {
        return refused.size();
    }

    /** Those that were applied first; at most {@code max}. */
    List<SequenceDiagram> diagrams(int max) {
        List<SequenceDiagram> diagrams = new ArrayList<>();
        applied.stream().limit(max).forEach(call -> diagram(call, true).ifPresent(diagrams::add));
        refused.stream()
                .limit(max - diagrams.size())
                .forEach(call -> diagram(call, false).ifPresent(diagrams::add));
        return diagrams;
    }

    private Optional<SequenceDiagram> diagram(JsonObject call, boolean violation) {
        JsonObject granted = grants.get(text(call, "grant"));
        if (granted == null && call.has("token")) {
            granted = grants.get(text(call, "token"));
        }
        return Optional.ofNullable(granted).map(grant -> new Drawing(call, grant, violation).draw());
    }

    /** One diagram. */
    private final class Drawing {
        private final JsonObject call;
        private final JsonObject granted;
        private final boolean violation;
        private final String client;
        private final List<JsonObject> between;
        private final Optional<JsonObject> successor;
        private final ShortTokens tokens = new ShortTokens(4);
        private final List<Step> steps = new ArrayList<>();

        Drawing(JsonObject call, JsonObject granted, boolean violation) {
            this.call = call;
            this.granted = granted;
            this.violation = violation;
            this.client = text(call, "client");
            this.between = byLock.getOrDefault(text(call, "lock"), List.of()).stream()
                    .filter(event -> at(event) >= at(granted) && at(event) <= at(call) && !event.equals(call))
                    .toList();
            this.successor = successor();
            tokens.of(token(granted));
        }

        /** The newer grant whose token is the mark, or else the newest that made a call. */
        private Optional<JsonObject> successor() {
            String mark = text(call, "mark");
            Set<String> called = new HashSet<>();
            between.stream()
                    .filter(event -> Set.of("read", "acknowledged").contains(text(event, "event")))
                    .forEach(event -> called.add(text(event, "grant") + text(event, "token")));
            return between.stream()
                    .filter(event -> text(event, "event").equals("granted") && token(event) > token(granted))
                    .max(Comparator.<JsonObject, Boolean>comparing(
                                    event -> text(event, "token").equals(mark))
                            .thenComparing(event -> called.contains(text(event, "grant") + text(event, "token"))
                                    || called.contains(text(event, "token")))
                            .thenComparing(LateCalls::token));
        }

        SequenceDiagram draw() {
            leaseOf(granted, 0);
            successor.ifPresent(newer -> leaseOf(newer, 1));
            successor.ifPresent(this::othersBefore);
            faultsOfCaller();
            long over = leaseOver();
            if (over > 0) {
                steps.add(step(over, 0, Kind.OVER, "lease over; " + client + " does not know"));
            }
            steps.sort(Comparator.comparingDouble(Step::millis));
            steps.add(lateCall());
            List<String> callers = new ArrayList<>(List.of(client));
            successor
                    .map(newer -> text(newer, "client"))
                    .map(name -> name.equals(client) ? name + " (2)" : name)
                    .ifPresent(callers::add);
            return new SequenceDiagram(sentence(), violation, text(call, "lock"), callers, steps);
        }

        private void leaseOf(JsonObject grant, int caller) {
            steps.add(step(at(grant), caller, Kind.GRANTED, "gets the lock, token " + tokens.of(token(grant))));
            List<JsonObject> calls = callsOf(grant);
            for (JsonObject event : calls.subList(Math.max(0, calls.size() - CALLS_SHOWN), calls.size())) {
                String value = valueOf(event);
                steps.add(
                        text(event, "event").equals("read")
                                ? new Step(millis(at(event)), caller, Kind.READ, "reads", "✓ " + value, "")
                                : new Step(
                                        millis(at(event)),
                                        caller,
                                        Kind.APPLIED,
                                        "writes " + value + ", token " + tokens.of(token(event)),
                                        "✓ applied",
                                        value));
            }
            between.stream()
                    .filter(event -> text(event, "event").equals("releasing") && isOf(event, grant))
                    .findFirst()
                    .ifPresent(event -> steps.add(step(at(event), caller, Kind.RELEASED, "releases the lock")));
        }

        private List<JsonObject> callsOf(JsonObject grant) {
            return between.stream()
                    .filter(event -> Set.of("read", "acknowledged").contains(text(event, "event")))
                    .filter(event -> isOf(event, grant))
                    .toList();
        }

        private void othersBefore(JsonObject newer) {
            long others = between.stream()
                    .filter(event ->
                            text(event, "event").equals("granted") && at(event) < at(newer) && !isOf(event, granted))
                    .count();
            if (others > 0) {
                String leases = others == 1 ? "lease" : "leases";
                steps.add(step(at(newer) - 1, 1, Kind.NOTE, others + " more " + leases + " of the lock before"));
            }
        }

        private void faultsOfCaller() {
            for (Fault fault : faultsDuring()) {
                double took = (fault.until - fault.from) / 1e9;
                String ends = String.format(Locale.ROOT, "goes on after %.1f s", took);
                if (fault.isPause()) {
                    steps.add(step(fault.from, 0, Kind.PAUSED, "is stopped (SIGSTOP)"));
                    if (fault.until <= at(call)) {
                        steps.add(step(fault.until, 0, Kind.RESUMED, ends));
                    }
                } else {
                    steps.add(step(fault.from, 0, Kind.NOTE, inWords(fault)));
                }
            }
        }

        private List<Fault> faultsDuring() {
            return faults.getOrDefault(client, List.of()).stream()
                    .filter(fault -> fault.from >= at(granted) && fault.from <= at(call))
                    .toList();
        }

        /** When the lease had ended, if that was before the call; else 0. */
        private long leaseOver() {
            long lost = between.stream()
                    .filter(event -> text(event, "event").equals("lost") && isOf(event, granted))
                    .mapToLong(LateCalls::at)
                    .min()
                    .orElse(Long.MAX_VALUE);
            long over = Math.min(lost, deadlines.getOrDefault(text(granted, "grant"), Long.MAX_VALUE));
            return over < at(call) && over > at(granted) ? over : 0;
        }

        private Step lateCall() {
            String write = isRead() ? "reads" : "writes " + valueOf(call);
            String request = write.strip() + ", token " + tokens.of(token(call));
            double millis = millis(at(call));
            if (!violation) {
                String mark = text(call, "mark");
                return new Step(
                        millis,
                        0,
                        Kind.REFUSED,
                        request,
                        "✗ refused" + (isToken(mark) ? ": older than " + tokens.of(mark) : ""),
                        "");
            }
            return new Step(
                    millis,
                    0,
                    Kind.LOST_UPDATE,
                    request,
                    "✗ applied: "
                            + overwritten().map(value -> value + " is lost").orElse("a newer write is lost"),
                    valueOf(call));
        }

        private boolean isRead() {
            return text(call, "event").equals("read-failed");
        }

        /** The value of the successor that the late write replaced. */
        private Optional<String> overwritten() {
            return successor.flatMap(newer -> callsOf(newer).stream()
                    .filter(event -> text(event, "event").equals("acknowledged"))
                    .reduce((earlier, later) -> later)
                    .map(LateCalls.this::valueOf)
                    .filter(value -> !value.isEmpty()));
        }

        private String sentence() {
            String call = isRead() ? "late read" : ("late write of " + valueOf(this.call)).replaceFirst(" of $", "");
            String with = " with token " + tokens.of(token(this.call));
            String end = violation
                    ? " was applied and "
                            + overwritten()
                                    .map(value -> newerClient() + "'s " + value)
                                    .orElse("a newer write")
                            + " is lost."
                    : " was refused.";
            return cause() + " and lost its lock" + successor.map(this::took).orElse("") + "; " + client + "'s " + call
                    + with + end;
        }

        private String newerClient() {
            return successor.map(newer -> text(newer, "client")).orElse("another client");
        }

        private String took(JsonObject newer) {
            String name = text(newer, "client").equals(client) ? "another lease of " + client : text(newer, "client");
            String did = overwritten()
                    .map(value -> " wrote " + value)
                    .orElse(callsOf(newer).isEmpty() ? " got it" : " read");
            return "; " + name + did;
        }

        private String cause() {
            return faultsDuring().stream()
                    .max(Comparator.comparing(Fault::isPause).thenComparing(fault -> fault.until - fault.from))
                    .map(fault -> fault.isPause()
                            ? String.format(
                                    Locale.ROOT, "%s was paused for %.1f s", client, (fault.until - fault.from) / 1e9)
                            : client + " had its " + inWords(fault))
                    .orElse(client + " was late");
        }
    }

    private static String inWords(Fault fault) {
        String to = fault.kind.contains("OBJECTS") ? "the data" : "the lock server";
        String how = fault.kind.startsWith("CUT") ? "cut" : fault.kind.startsWith("DELAY") ? "slow" : "frozen";
        return "link to " + to + " " + how;
    }

    private Step step(long at, int caller, Kind kind, String text) {
        return new Step(millis(at), caller, kind, text);
    }

    private double millis(long at) {
        return (at - at(events.get(0))) / 1e6;
    }

    /** The first word of what was read or written: runs write what they count, and then whose it is. */
    private String valueOf(JsonObject event) {
        String content = event.has("value")
                ? text(event, "value")
                : event.has("content") ? text(event, "content") : contents.getOrDefault(text(event, "op"), "");
        return content.split(" ", 2)[0];
    }

    /** In a demo a token names its grant. */
    private static boolean isOf(JsonObject event, JsonObject grant) {
        return event.has("grant")
                ? text(event, "grant").equals(text(grant, "grant"))
                : text(event, "token").equals(text(grant, "token"));
    }

    private static boolean isToken(String text) {
        return text.matches("\\d{1,18}");
    }

    private static String text(JsonObject event, String field) {
        return event.has(field) && event.get(field).isJsonPrimitive()
                ? event.get(field).getAsString()
                : "";
    }

    private static long at(JsonObject event) {
        return event.get("at").getAsLong();
    }

    private static long token(JsonObject event) {
        String token = text(event, "token");
        return isToken(token) ? Long.parseLong(token) : -1;
    }
}
