/** Metrics of the client and of the guard, in an application's own registry of Micrometer. */
@NullMarked
package dev.palisade.micrometer;

import org.jspecify.annotations.NullMarked;
