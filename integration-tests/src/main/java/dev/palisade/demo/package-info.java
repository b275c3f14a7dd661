/** {@code palisade demo}: the pause race with real processes, and what the guard makes of it. */
@NullMarked
package dev.palisade.demo;

import org.jspecify.annotations.NullMarked;
