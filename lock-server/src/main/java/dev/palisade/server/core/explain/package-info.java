/** Explanation of one grant of a lock, for people: a pure function of what a lock server knows. */
@NullMarked
package dev.palisade.server.core.explain;

import org.jspecify.annotations.NullMarked;
