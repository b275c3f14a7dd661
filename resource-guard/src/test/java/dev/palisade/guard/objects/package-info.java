@NullMarked
package dev.palisade.guard.objects;

import org.jspecify.annotations.NullMarked;
