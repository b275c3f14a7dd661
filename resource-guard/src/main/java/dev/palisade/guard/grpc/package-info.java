/**
 * The guard in front of a gRPC service: {@link dev.palisade.guard.grpc.GuardInterceptor} puts it there, {@link
 * dev.palisade.guard.grpc.GuardService} lets holders claim, and {@link dev.palisade.guard.grpc.GrpcLockService} calls the lock
 * server. Calls are admitted in {@code dev.palisade.guard}; this package only reads them, holds them back and replies.
 */
@NullMarked
package dev.palisade.guard.grpc;

import org.jspecify.annotations.NullMarked;
