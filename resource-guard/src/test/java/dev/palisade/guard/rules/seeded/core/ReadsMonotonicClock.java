package dev.palisade.guard.rules.seeded.core;

import java.util.function.LongSupplier;

/** A seeded violation: pure code that reads the monotonic clock, by a method reference. */
final class ReadsMonotonicClock {
    LongSupplier now() {
        return System::nanoTime;
    }
}
