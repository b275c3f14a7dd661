@NullMarked
package dev.palisade.guard.mark;

import org.jspecify.annotations.NullMarked;
