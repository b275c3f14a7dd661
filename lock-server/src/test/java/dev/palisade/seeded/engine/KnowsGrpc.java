package dev.palisade.seeded.engine;

import io.grpc.Status;

/** Seeded violation. */
public final class KnowsGrpc {
    static String ok() {
        return Status.OK.toString();
    }
}
