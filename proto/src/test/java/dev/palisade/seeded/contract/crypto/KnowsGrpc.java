package dev.palisade.seeded.contract.crypto;

import io.grpc.Status;

/** Seeded violation. */
public final class KnowsGrpc {
    static String ok() {
        return Status.OK.toString();
    }
}
