@NullMarked
package dev.palisade.guard.rules.seeded.listener;

import org.jspecify.annotations.NullMarked;
