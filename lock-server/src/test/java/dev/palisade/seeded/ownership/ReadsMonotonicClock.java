package dev.palisade.seeded.ownership;

import java.util.function.LongSupplier;

/** Seeded violation. */
public final class ReadsMonotonicClock {
    static LongSupplier read() {
        return System::nanoTime;
    }
}
