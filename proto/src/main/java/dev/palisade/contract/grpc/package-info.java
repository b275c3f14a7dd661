/** How rejections and sequencers travel in gRPC: the only place that maps reasons to status codes. */
@NullMarked
package dev.palisade.contract.grpc;

import org.jspecify.annotations.NullMarked;
