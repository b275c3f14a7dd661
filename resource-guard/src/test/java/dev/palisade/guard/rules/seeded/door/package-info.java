@NullMarked
package dev.palisade.guard.rules.seeded.door;

import org.jspecify.annotations.NullMarked;
