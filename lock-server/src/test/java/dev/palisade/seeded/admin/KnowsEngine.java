package dev.palisade.seeded.admin;

import dev.palisade.seeded.engine.Plain;

/** Seeded violation. */
public final class KnowsEngine {
    static void use(Plain engine) {
        engine.use();
    }
}
