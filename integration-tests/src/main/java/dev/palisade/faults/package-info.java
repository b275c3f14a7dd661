/**
 * Fault injection: client processes under faults that a seed chooses, the recorded history, and the input of the
 * checkers. The checkers are in {@code dev.palisade.check}; this package never checks properties itself.
 */
@NullMarked
package dev.palisade.faults;

import org.jspecify.annotations.NullMarked;
