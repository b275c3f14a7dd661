package dev.palisade.guard.s3;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.guard.GuardStats;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Counters of a {@link FencedS3} and of the copies made of it. Decides nothing. Safe for use by many threads. */
final class S3FenceCounters {
    private final EventLog events;
    private final Map<Reason, LongAdder> refused = new ConcurrentHashMap<>();
    private final LongAdder admitted = new LongAdder();
    private final LongAdder running = new LongAdder();

    S3FenceCounters(EventLog events) {
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

    /** Brackets the requests of one call. */
    void callBegins() {
        running.increment();
    }

    void callEnds() {
        running.decrement();
    }

    GuardStats stats() {
        Map<Reason, Long> counts = new EnumMap<>(Reason.class);
        refused.forEach((reason, count) -> counts.put(reason, count.sum()));
        return new GuardStats(admitted.sum(), counts, Map.of(), running.intValue());
    }
}
