/** The gRPC face of the engine: decode, submit, answer. Everything malformed is refused here and never later. */
@NullMarked
package dev.palisade.server.rpc;

import org.jspecify.annotations.NullMarked;
