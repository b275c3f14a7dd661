@NullMarked
package dev.palisade.guard.core;

import org.jspecify.annotations.NullMarked;
