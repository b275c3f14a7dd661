/** A history as a picture: one HTML file that shows who held what when. It draws what it is given and judges nothing. */
@NullMarked
package dev.palisade.picture;

import org.jspecify.annotations.NullMarked;
