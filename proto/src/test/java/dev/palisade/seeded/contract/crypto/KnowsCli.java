package dev.palisade.seeded.contract.crypto;

import dev.palisade.seeded.contract.cli.KnowsCrypto;

/** Seeded violation. */
public final class KnowsCli {
    static void use(KnowsCrypto other) {
        other.use(null);
    }
}
