/** Palisade's libraries in an application that has other versions of gRPC and protobuf. */
@NullMarked
package dev.palisade.compatibility;

import org.jspecify.annotations.NullMarked;
