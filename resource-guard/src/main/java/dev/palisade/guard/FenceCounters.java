package dev.palisade.guard;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.RejectedException;
import java.util.concurrent.atomic.LongAdder;

/** Counters of a {@link FencedJdbc} and of the copies made of it. Decides nothing. Safe for use by many threads. */
final class FenceCounters {
    private final RefusalCounters refusals;
    private final LongAdder admitted = new LongAdder();
    private final LongAdder waiting = new LongAdder();

    FenceCounters(EventLog events) {
        this.refusals = new RefusalCounters(events, false);
    }

    void admitted() {
        admitted.increment();
    }

    /** @return {@code refusal}, counted and logged, to be thrown */
    RejectedException refused(RejectedException refusal) {
        refusals.add(refusal.rejection());
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
