package dev.palisade.client.seeded;

import java.util.function.LongSupplier;

/** Seeded: reads the clock by a method reference, which a rule on calls alone would miss. */
public final class ReadsAClock {
    private ReadsAClock() {}

    public static LongSupplier now() {
        return System::nanoTime;
    }
}
