package dev.palisade.guard.rules.seeded.storage;

import io.grpc.Status;

/** A seeded violation: storage that knows gRPC. */
record KnowsGrpc(Status status) {}
