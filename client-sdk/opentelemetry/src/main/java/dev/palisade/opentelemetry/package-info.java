/** Spans of acquires and of guarded calls, in an application's own OpenTelemetry. */
@NullMarked
package dev.palisade.opentelemetry;

import org.jspecify.annotations.NullMarked;
