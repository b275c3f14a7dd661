/** {@code palisade demo}: races with real processes, and what the guard makes of them. */
@NullMarked
package dev.palisade.demo;

import org.jspecify.annotations.NullMarked;
