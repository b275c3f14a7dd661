package dev.palisade.seeded.ownership;

import java.util.UUID;

/** Seeded violation. */
public final class DrawsUuid {
    static UUID draw() {
        return UUID.randomUUID();
    }
}
