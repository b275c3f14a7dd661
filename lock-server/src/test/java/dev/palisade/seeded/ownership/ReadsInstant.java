package dev.palisade.seeded.ownership;

import java.time.Instant;

/** Seeded violation. */
public final class ReadsInstant {
    static Instant read() {
        return Instant.now();
    }
}
