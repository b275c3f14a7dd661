package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.check.Held;
import dev.palisade.contract.GrantId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The leases of a run from the clients' point of view, read from its events. A lease counts as freed early if the lock
 * server or its client recorded that. If the server's record is missing, and the client was cut off, stopped or slow at
 * the time, the checkers assume nothing about the lease: it counts as freed early too.
 */
final class Leases {
    private static final long EARLIER_NANOS = 8_000_000_000L;
    private static final long LATER_NANOS = 1_000_000_000L;
    private static final Set<String> EARLY = Set.of("ABANDONED", "FORCE_RELEASED");

    /** By grant and token: a store that lost data may grant a request again, under the same grant id. */
    private final Map<String, Lease> byToken = new LinkedHashMap<>();

    private final Set<String> freedEarly = new HashSet<>();
    private final List<Interval> faults = new ArrayList<>();
    private final List<Interval> forcedReleases = new ArrayList<>();
    private final List<Interval> historyGaps = new ArrayList<>();

    /** A time interval of {@code subject}, a client or a lock. */
    private record Interval(String subject, long fromNanos, long untilNanos) {
        boolean overlaps(String who, long from, long until) {
            return subject.equals(who) && fromNanos <= until && untilNanos >= from;
        }
    }

    private static final class Lease {
        final JsonObject granted;
        long deadlineNanos;
        long endedNanos = Long.MAX_VALUE;

        Lease(JsonObject granted) {
            this.granted = granted;
            this.deadlineNanos = number(granted, "until");
        }

        long untilNanos() {
            return Math.min(deadlineNanos, endedNanos);
        }
    }

    private Leases() {}

    /** @param events in the order of their times */
    static List<Held> of(List<JsonObject> events) {
        Leases leases = new Leases();
        leases.readIntervals(events);
        events.forEach(leases::read);
        return leases.byToken.values().stream().map(leases::held).toList();
    }

    private void read(JsonObject event) {
        switch (text(event, "event")) {
            case "granted" -> byToken.put(key(event), new Lease(event));
            case "granted-again" -> extend(byToken.computeIfAbsent(key(event), token -> new Lease(event)), event);
            case "valid" -> extend(byToken.get(key(event)), event);
            case "releasing" -> end(byToken.get(key(event)), event);
            case "lost" -> {
                end(byToken.get(key(event)), event);
                if (EARLY.contains(text(event, "reason"))) {
                    freedEarly.add(serverGrant(text(event, "grant")));
                }
            }
            case "lock-history" -> {
                if (EARLY.contains(text(event, "what"))) {
                    freedEarly.add(serverGrant(text(event, "grant")));
                }
            }
            case "fault-began" -> {
                if (text(event, "fault").equals("KILL_CLIENT")) {
                    byToken.values().stream()
                            .filter(lease -> text(lease.granted, "client").equals(text(event, "who")))
                            .forEach(lease -> end(lease, event));
                }
            }
            default -> {
                // Not about a lease.
            }
        }
    }

    private static String key(JsonObject event) {
        return text(event, "grant") + " " + number(event, "token");
    }

    /** The grant id of the lock server; clients add the number of the local hand-off. */
    private static String serverGrant(String grant) {
        return GrantId.of(HexFormat.of().parseHex(grant)).turn(0).toString();
    }

    private static void extend(@Nullable Lease lease, JsonObject event) {
        if (lease != null) {
            lease.deadlineNanos = Math.max(lease.deadlineNanos, number(event, "until"));
        }
    }

    private static void end(@Nullable Lease lease, JsonObject event) {
        if (lease != null) {
            lease.endedNanos = Math.min(lease.endedNanos, number(event, "at"));
        }
    }

    private void readIntervals(List<JsonObject> events) {
        Map<String, JsonObject> began = new HashMap<>();
        Map<String, JsonObject> last = new HashMap<>();
        for (JsonObject event : events) {
            if (is(event, "fault-began")) {
                began.put(text(event, "number") + text(event, "who"), event);
            } else if (is(event, "fault-ended")) {
                JsonObject begin = began.remove(text(event, "number") + text(event, "who"));
                if (begin != null) {
                    faults.add(new Interval(text(event, "who"), number(begin, "at"), number(event, "at")));
                }
            } else if (is(event, "operated") && text(event, "fault").equals("FORCE_RELEASE")) {
                forcedReleases.add(new Interval(text(event, "lock"), number(event, "at"), number(event, "answered")));
            } else if (is(event, "lock-history")) {
                JsonObject before = last.put(text(event, "lock"), event);
                // Up to a loss of data it was read; what is granted after one waits until nobody believes in anything
                // older.
                if (before != null
                        && number(before, "stretch") != number(event, "stretch")
                        && !event.has("after_loss")) {
                    historyGaps.add(new Interval(text(event, "lock"), number(before, "at"), number(event, "at")));
                }
            }
        }
    }

    private Held held(Lease lease) {
        String client = text(lease.granted, "client");
        String lock = text(lease.granted, "lock");
        String grant = text(lease.granted, "grant");
        long from = number(lease.granted, "at");
        long until = lease.untilNanos();
        // The lease may have begun before its client knew of it.
        long asked = number(lease.granted, "asked");
        boolean wasForced = forcedReleases.stream().anyMatch(interval -> interval.overlaps(lock, asked, until));
        boolean unreported = historyGaps.stream().anyMatch(gap -> gap.overlaps(lock, from, until + LATER_NANOS))
                && faults.stream().anyMatch(interval -> interval.overlaps(client, from - EARLIER_NANOS, until));
        return new Held(
                client,
                lock,
                text(lease.granted, "mode").equals("SHARED"),
                number(lease.granted, "token"),
                grant,
                from,
                until,
                freedEarly.contains(serverGrant(grant)) || wasForced || unreported);
    }
}
