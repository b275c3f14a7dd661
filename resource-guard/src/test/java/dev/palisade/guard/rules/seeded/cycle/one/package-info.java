@NullMarked
package dev.palisade.guard.rules.seeded.cycle.one;

import org.jspecify.annotations.NullMarked;
