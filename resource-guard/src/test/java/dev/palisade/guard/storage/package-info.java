@NullMarked
package dev.palisade.guard.storage;

import org.jspecify.annotations.NullMarked;
