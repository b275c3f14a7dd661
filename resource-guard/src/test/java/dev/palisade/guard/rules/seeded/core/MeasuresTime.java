package dev.palisade.guard.rules.seeded.core;

import java.util.function.LongSupplier;

/** A seeded violation: pure code that measures time, by a method reference. */
final class MeasuresTime {
    LongSupplier now() {
        return System::nanoTime;
    }
}
