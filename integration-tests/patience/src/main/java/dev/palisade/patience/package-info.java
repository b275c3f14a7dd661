/** How long tests wait. */
@NullMarked
package dev.palisade.patience;

import org.jspecify.annotations.NullMarked;
