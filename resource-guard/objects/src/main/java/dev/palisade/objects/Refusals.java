package dev.palisade.objects;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** Counters of the refusals of the process by reason, with one log event for each refusal. Thread-safe. */
final class Refusals {
    private final EventLog events;
    private final Map<Reason, LongAdder> counts = new EnumMap<>(Reason.class);

    Refusals(EventLog events) {
        this.events = events;
        for (Reason reason : Reason.values()) {
            counts.put(reason, new LongAdder());
        }
    }

    void refused(Rejection rejection) {
        failed(rejection.reason());
        events.refused(rejection);
    }

    /** Counts a call that ended with {@code reason} and has another event, or none. */
    void failed(Reason reason) {
        Objects.requireNonNull(counts.get(reason)).increment();
    }

    /** How many calls were refused since the start, by reason; those that did not occur are 0. */
    Map<Reason, Long> counts() {
        Map<Reason, Long> sums = new EnumMap<>(Reason.class);
        counts.forEach((reason, count) -> sums.put(reason, count.sum()));
        return sums;
    }
}
