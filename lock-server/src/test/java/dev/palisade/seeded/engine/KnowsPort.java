package dev.palisade.seeded.engine;

import dev.palisade.seeded.store.Port;

/** Seeded violation. */
public final class KnowsPort {
    static void use(Port port) {
        port.use();
    }
}
