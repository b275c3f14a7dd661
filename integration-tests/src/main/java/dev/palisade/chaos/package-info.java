/** {@code palisade chaos}: harm done to a real lock server, and the documented bounds judged by what its other clients saw. */
@NullMarked
package dev.palisade.chaos;

import org.jspecify.annotations.NullMarked;
