/**
 * The guard in front of a gRPC service: {@link dev.palisade.guard.grpc.GuardInterceptor} puts it there, {@link
 * dev.palisade.guard.grpc.GuardService} lets holders claim, {@link dev.palisade.guard.grpc.GrpcLockService} is what the guard
 * asks. Whether a call is let in is decided in {@code dev.palisade.guard}; here it is only read, kept waiting and told.
 */
@NullMarked
package dev.palisade.guard.grpc;

import org.jspecify.annotations.NullMarked;
