package dev.palisade.seeded.tracing;

import dev.palisade.seeded.engine.Plain;

/** Seeded violation. */
public final class KnowsEngine {
    static void use(Plain engine) {
        engine.use();
    }
}
