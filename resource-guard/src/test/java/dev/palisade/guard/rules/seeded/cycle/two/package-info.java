@NullMarked
package dev.palisade.guard.rules.seeded.cycle.two;

import org.jspecify.annotations.NullMarked;
