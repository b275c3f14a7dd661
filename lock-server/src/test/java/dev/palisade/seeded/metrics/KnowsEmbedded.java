package dev.palisade.seeded.metrics;

import dev.palisade.seeded.store.embedded.Plain;

/** Seeded violation. */
public final class KnowsEmbedded {
    static void use(Plain store) {
        store.use();
    }
}
