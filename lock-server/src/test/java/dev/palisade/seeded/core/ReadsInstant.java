package dev.palisade.seeded.core;

import java.time.Instant;

/** Seeded violation. */
public final class ReadsInstant {
    static Instant read() {
        return Instant.now();
    }
}
