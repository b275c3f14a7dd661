@NullMarked
package dev.palisade.bench;

import org.jspecify.annotations.NullMarked;
