package dev.palisade.guard.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.guard.GuardStats;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counters of a {@link FencedRedis} and of the copies made of it. Decides nothing. Safe for use by many threads. */
final class RedisFenceCounters {
    private final EventLog events;
    private final Map<Reason, LongAdder> refused = new ConcurrentHashMap<>();
    private final LongAdder admitted = new LongAdder();
    private final LongAdder waiting = new LongAdder();

    RedisFenceCounters(EventLog events) {
        this.events = events;
    }

    void admitted() {
        admitted.increment();
    }

    /** @return {@code refusal}, counted and logged, to be thrown */
    RejectedException refused(RejectedException refusal) {
        refused.computeIfAbsent(refusal.reason(), any -> new LongAdder()).increment();
        events.refused(refusal.rejection());
        return refusal;
    }

    /** Brackets the wait for a reply. */
    void callBegins() {
        waiting.increment();
    }

    void callEnds() {
        waiting.decrement();
    }

    GuardStats stats() {
        Map<Reason, Long> counts = new EnumMap<>(Reason.class);
        refused.forEach((reason, count) -> counts.put(reason, count.sum()));
        return new GuardStats(admitted.sum(), counts, Map.of(), waiting.intValue());
    }
}
