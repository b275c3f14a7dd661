@NullMarked
package dev.palisade.guard.rules.seeded.guard;

import org.jspecify.annotations.NullMarked;
