@NullMarked
package dev.palisade.guard.rules.seeded.core;

import org.jspecify.annotations.NullMarked;
