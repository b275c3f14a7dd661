package dev.palisade.guard;

import dev.palisade.contract.Reason;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counts by reason, from many threads. */
final class Tally {
    private final Map<Reason, LongAdder> counts = new ConcurrentHashMap<>();

    void add(Reason reason) {
        counts.computeIfAbsent(reason, any -> new LongAdder()).increment();
    }

    /** Reasons that occurred. */
    Map<Reason, Long> counts() {
        Map<Reason, Long> seen = new EnumMap<>(Reason.class);
        counts.forEach((reason, count) -> seen.put(reason, count.sum()));
        return seen;
    }
}
