/** The command line as people use it: the packaged jar, real processes, real signals. */
@NullMarked
package dev.palisade.cli;

import org.jspecify.annotations.NullMarked;
