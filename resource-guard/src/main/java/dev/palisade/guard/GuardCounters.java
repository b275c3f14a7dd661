package dev.palisade.guard;

import java.util.concurrent.atomic.LongAdder;

/** Counters of one guard's calls since its start, for {@link GuardStats}. Safe for use by many threads; nothing blocks. */
final class GuardCounters {
    final LongAdder admitted = new LongAdder();
    /** Admissions that have ended, or were given up to a quarantine. */
    final LongAdder ended = new LongAdder();

    final LongAdder superseded = new LongAdder();
    final LongAdder quarantinesBegun = new LongAdder();
    final LongAdder quarantinesOver = new LongAdder();

    /** Calls that run; read while others count, so never below zero on purpose. */
    long running() {
        return Math.max(0, admitted.sum() - ended.sum());
    }

    /** Calls whose end is not known and not assumed yet. */
    long quarantined() {
        return Math.max(0, quarantinesBegun.sum() - quarantinesOver.sum());
    }
}
