/** Runs with real processes under faults, and the checkers over what they leave behind. */
@NullMarked
package dev.palisade.faults;

import org.jspecify.annotations.NullMarked;
