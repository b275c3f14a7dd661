package dev.palisade.seeded.engine;

import io.micrometer.core.instrument.Counter;

/** Seeded violation. */
public final class KnowsMicrometer {
    static void count(Counter counter) {
        counter.increment();
    }
}
