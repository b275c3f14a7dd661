/** Spans of the lock server, in the OpenTelemetry of its process. */
@NullMarked
package dev.palisade.server.tracing;

import org.jspecify.annotations.NullMarked;
