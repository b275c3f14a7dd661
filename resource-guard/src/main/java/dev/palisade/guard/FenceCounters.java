package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** Counters of a {@link FencedJdbc} and of the copies made of it. Decides nothing. Safe for use by many threads. */
final class FenceCounters {
    private final RefusalCounters refusals;
    private final Consumer<Rejection> reports;
    private final LongAdder admitted;
    private final LongAdder waiting;

    FenceCounters(EventLog events) {
        this(new RefusalCounters(events, false), refused -> {}, new LongAdder(), new LongAdder());
    }

    private FenceCounters(
            RefusalCounters refusals, Consumer<Rejection> reports, LongAdder admitted, LongAdder waiting) {
        this.refusals = refusals;
        this.reports = reports;
        this.admitted = admitted;
        this.waiting = waiting;
    }

    /** The same counters; refusals by the copy are reported, too. */
    FenceCounters reporting(Consumer<Rejection> to) {
        return new FenceCounters(refusals, to, admitted, waiting);
    }

    /** Counters from 0, without log events, and with the same reports. */
    FenceCounters withoutEvents() {
        return new FenceCounters(new RefusalCounters(EventLog.NONE, false), reports, new LongAdder(), new LongAdder());
    }

    void admitted() {
        admitted.increment();
    }

    /** @return {@code refusal}, counted, logged and reported, to be thrown */
    RejectedException refused(RejectedException refusal) {
        refusals.add(refusal.rejection());
        reports.accept(refusal.rejection());
        return refusal;
    }

    /** Brackets a check, which may wait for the row. */
    void checkBegins() {
        waiting.increment();
    }

    void checkEnds() {
        waiting.decrement();
    }

    GuardStats stats() {
        return new GuardStats(admitted.sum(), refusals.refused(), refusals.wouldRefuse(), waiting.intValue());
    }
}
