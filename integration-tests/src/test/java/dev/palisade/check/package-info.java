/** Each checker passes a clean run and finds its planted bug. */
@NullMarked
package dev.palisade.check;

import org.jspecify.annotations.NullMarked;
