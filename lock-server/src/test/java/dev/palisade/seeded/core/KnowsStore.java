package dev.palisade.seeded.core;

import dev.palisade.seeded.store.Port;

/** Seeded violation. */
public final class KnowsStore {
    static void use(Port port) {
        port.use();
    }
}
