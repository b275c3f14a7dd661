package dev.palisade.guard.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.GuardStats;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** Counters of a {@link FencedRedis} and of the copies made of it. Decides nothing. Safe for use by many threads. */
final class RedisFenceCounters {
    private final EventLog events;
    private final Consumer<Rejection> reports;
    private final Map<Reason, LongAdder> refused;
    private final LongAdder admitted;
    private final LongAdder waiting;

    RedisFenceCounters(EventLog events) {
        this(events, refused -> {}, new ConcurrentHashMap<>(), new LongAdder(), new LongAdder());
    }

    private RedisFenceCounters(
            EventLog events,
            Consumer<Rejection> reports,
            Map<Reason, LongAdder> refused,
            LongAdder admitted,
            LongAdder waiting) {
        this.events = events;
        this.reports = reports;
        this.refused = refused;
        this.admitted = admitted;
        this.waiting = waiting;
    }

    /** The same counters; refusals by the copy are reported, too. */
    RedisFenceCounters reporting(Consumer<Rejection> to) {
        return new RedisFenceCounters(events, to, refused, admitted, waiting);
    }

    /** Counters from 0, without log events, and with the same reports. */
    RedisFenceCounters withoutEvents() {
        return new RedisFenceCounters(
                EventLog.NONE, reports, new ConcurrentHashMap<>(), new LongAdder(), new LongAdder());
    }

    void admitted() {
        admitted.increment();
    }

    /** @return {@code refusal}, counted, logged and reported, to be thrown */
    RejectedException refused(RejectedException refusal) {
        refused.computeIfAbsent(refusal.reason(), any -> new LongAdder()).increment();
        events.refused(refusal.rejection());
        reports.accept(refusal.rejection());
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
