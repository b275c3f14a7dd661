@NullMarked
package dev.palisade.guard.rules.seeded.storage;

import org.jspecify.annotations.NullMarked;
