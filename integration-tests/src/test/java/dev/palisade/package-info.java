/** What is asked of the project as a whole. */
@NullMarked
package dev.palisade;

import org.jspecify.annotations.NullMarked;
