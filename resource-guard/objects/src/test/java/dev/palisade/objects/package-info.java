@NullMarked
package dev.palisade.objects;

import org.jspecify.annotations.NullMarked;
