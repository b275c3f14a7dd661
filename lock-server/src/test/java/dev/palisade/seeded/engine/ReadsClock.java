package dev.palisade.seeded.engine;

import java.util.function.LongSupplier;

/** Seeded violation. */
public final class ReadsClock {
    static LongSupplier read() {
        return System::currentTimeMillis;
    }
}
