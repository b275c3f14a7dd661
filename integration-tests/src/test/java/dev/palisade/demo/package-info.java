/** The demo as its users run it. */
@NullMarked
package dev.palisade.demo;

import org.jspecify.annotations.NullMarked;
