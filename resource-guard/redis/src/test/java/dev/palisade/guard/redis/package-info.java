@NullMarked
package dev.palisade.guard.redis;

import org.jspecify.annotations.NullMarked;
