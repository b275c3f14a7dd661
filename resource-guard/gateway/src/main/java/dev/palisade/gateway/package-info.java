/**
 * {@code palisade gateway}: a reverse proxy with the guard inside, for HTTP and gRPC services that cannot be changed.
 * A process of its own; no service takes it as a library.
 */
@NullMarked
package dev.palisade.gateway;

import org.jspecify.annotations.NullMarked;
