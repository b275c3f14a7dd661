/** What a picture keeps of what it is given. */
@NullMarked
package dev.palisade.picture;

import org.jspecify.annotations.NullMarked;
