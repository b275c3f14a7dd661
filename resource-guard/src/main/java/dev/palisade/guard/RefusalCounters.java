package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * Counters of a guard's refusals by reason, with one log event for each refusal. Decides nothing. Used by the guard
 * in front of a service and by the fence in a transaction. Safe for use by many threads.
 */
final class RefusalCounters {
    private static final System.Logger EVENTS = System.getLogger("dev.palisade.guard.events");

    private final EventLog events;
    private final boolean observeOnly;
    private final Consumer<Rejection> reports;
    private final Map<Reason, LongAdder> counts = new ConcurrentHashMap<>();

    /** @param observeOnly the guard lets these calls in, and the log must say so */
    RefusalCounters(EventLog events, boolean observeOnly) {
        this(events, observeOnly, refused -> {});
    }

    /** @param reports gets each refusal, but none that a guard only observes; must not wait */
    RefusalCounters(EventLog events, boolean observeOnly, Consumer<Rejection> reports) {
        this.events = events;
        this.observeOnly = observeOnly;
        this.reports = reports;
    }

    /** Writes a line to the log that operators read, on the calling thread. */
    static void log(String line) {
        EVENTS.log(System.Logger.Level.INFO, line);
    }

    /** Counts and logs one refusal. */
    void add(Rejection rejection) {
        add(rejection, Map.of());
    }

    /** @param caller what else the log shows of the call and its sender; not what the rejection says already */
    void add(Rejection rejection, Map<String, String> caller) {
        counts.computeIfAbsent(rejection.reason(), any -> new LongAdder()).increment();
        List<Object> pairs = new ArrayList<>();
        caller.forEach((key, value) -> {
            if (!rejection.metadata().containsKey(key)) {
                pairs.addAll(List.of(key, value));
            }
        });
        if (observeOnly) {
            pairs.addAll(List.of("observed", "yes"));
            String message = "would have been refused, and was let through: " + rejection.message();
            events.refused(new Rejection(rejection.reason(), message, rejection.metadata()), pairs.toArray());
        } else {
            events.refused(rejection, pairs.toArray());
            reports.accept(rejection);
        }
    }

    /** Refused calls, by reasons that occurred. */
    Map<Reason, Long> refused() {
        return observeOnly ? Map.of() : counts();
    }

    /** Calls that a guard which only observes let in and would have refused, by reasons that occurred. */
    Map<Reason, Long> wouldRefuse() {
        return observeOnly ? counts() : Map.of();
    }

    private Map<Reason, Long> counts() {
        Map<Reason, Long> seen = new EnumMap<>(Reason.class);
        counts.forEach((reason, count) -> seen.put(reason, count.sum()));
        return seen;
    }
}
