@NullMarked
package dev.palisade.guard.rules.seeded.mark;

import org.jspecify.annotations.NullMarked;
