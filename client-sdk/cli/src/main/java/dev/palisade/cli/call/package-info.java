/** Unary calls of one-shot commands: to which server, for how long, and what a failure means for the exit code. */
@NullMarked
package dev.palisade.cli.call;

import org.jspecify.annotations.NullMarked;
