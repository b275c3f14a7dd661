@NullMarked
package dev.palisade.guard.rules;

import org.jspecify.annotations.NullMarked;
