package dev.palisade.seeded.contract.cli;

import dev.palisade.seeded.contract.crypto.KnowsCli;

/** Seeded violation. */
public final class KnowsCrypto {
    public void use(KnowsCli other) {}
}
