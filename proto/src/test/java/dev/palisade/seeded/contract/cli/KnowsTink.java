package dev.palisade.seeded.contract.cli;

import com.google.crypto.tink.KeysetHandle;

/** Seeded violation. */
public final class KnowsTink {
    static int size(KeysetHandle keyset) {
        return keyset.size();
    }
}
