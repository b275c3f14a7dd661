package dev.palisade.guard.s3;

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

/** Counters of a {@link FencedS3} and of the copies made of it. Decides nothing. Safe for use by many threads. */
final class S3FenceCounters {
    private final EventLog events;
    private final Consumer<Rejection> reports;
    private final Map<Reason, LongAdder> refused;
    private final LongAdder admitted;
    private final LongAdder running;

    S3FenceCounters(EventLog events) {
        this(events, refused -> {}, new ConcurrentHashMap<>(), new LongAdder(), new LongAdder());
    }

    private S3FenceCounters(
            EventLog events,
            Consumer<Rejection> reports,
            Map<Reason, LongAdder> refused,
            LongAdder admitted,
            LongAdder running) {
        this.events = events;
        this.reports = reports;
        this.refused = refused;
        this.admitted = admitted;
        this.running = running;
    }

    /** The same counters; refusals by the copy are reported, too. */
    S3FenceCounters reporting(Consumer<Rejection> to) {
        return new S3FenceCounters(events, to, refused, admitted, running);
    }

    /** Counters from 0, without log events, and with the same reports. */
    S3FenceCounters withoutEvents() {
        return new S3FenceCounters(EventLog.NONE, reports, new ConcurrentHashMap<>(), new LongAdder(), new LongAdder());
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
