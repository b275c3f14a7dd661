@NullMarked
package dev.palisade.guard.grpc;

import org.jspecify.annotations.NullMarked;
