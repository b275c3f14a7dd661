@NullMarked
package dev.palisade.guard.rules.seeded.dialect;

import org.jspecify.annotations.NullMarked;
