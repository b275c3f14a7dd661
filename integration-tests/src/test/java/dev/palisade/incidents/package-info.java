@NullMarked
package dev.palisade.incidents;

import org.jspecify.annotations.NullMarked;
